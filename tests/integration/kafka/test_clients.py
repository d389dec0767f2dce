# SPDX-License-Identifier: Apache-2.0
"""Kafka's own settings reach the clients, and clients are kept as long as asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.local import Record
from headrace.testing import eventually
from tests.integration.kafka.driver import client_ids
from tests.integration.kafka.streams import PATIENCE, Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from tests.integration.kafka.streams import Options, Streams


@pytest.mark.parametrize(
    ("options", "beginning"),
    [
        pytest.param({}, "consumer-headrace-source-", id="default"),
        pytest.param({"groupIdPrefix": "fraud"}, "consumer-fraud-", id="prefix"),
        pytest.param({"groupIdPrefix": "no", "kafka.group.id": "granted"}, "consumer-granted-", id="group"),
    ],
)
@pytest.mark.parametrize("mode", [Mode.MICRO_BATCH, Mode.REAL_TIME], ids=lambda mode: mode.value)
def test_group_ids_are_as_asked(streams: Streams, mode: Mode, options: dict[str, str], beginning: str):
    """Consumers have a group id of their own, with the prefix asked for, or exactly the one asked for."""
    topic, out = streams.kafka.topic(partitions=1), streams.kafka.topic("out")
    streams.kafka.produce(topic, ["x"])
    before = client_ids(streams.spark, "consumer")
    query = streams.copy(out, mode, subscribe=topic, **options)
    streams.wait_for(query, out, 1)
    # Kafka names a client after its group.
    (consumer,) = client_ids(streams.spark, "consumer") - before
    assert consumer.startswith(beginning)


def test_two_queries_may_share_a_group(streams: Streams):
    """Partitions are assigned, not negotiated: two queries with one group id both read everything."""
    topic = streams.kafka.topic(partitions=2)
    streams.kafka.produce(topic, [Record(value=b"x", partition=n) for n in range(2)])
    outs = [streams.kafka.topic("out") for _ in range(2)]
    queries = [streams.copy(out, subscribe=topic, kafka__group__id="shared") for out in outs]
    for query, out in zip(queries, outs, strict=True):
        streams.wait_for(query, out, 2)


def test_client_settings_reach_the_clients(streams: Streams):
    """kafka.* options are settings of the consumer or of the producer."""
    topic, out = streams.kafka.topic(partitions=1), streams.kafka.topic("out")
    streams.kafka.produce(topic, ["x"])
    name = f"orders-{topic}"
    sink: Options = {"topic": out, "kafka.client.id": f"{name}-writer"}
    query = streams.copy(sink, subscribe=topic, kafka__client__id=f"{name}-reader")
    streams.wait_for(query, out, 1)
    assert f"{name}-reader" in client_ids(streams.spark, "consumer")
    assert f"{name}-writer" in client_ids(streams.spark, "producer")


def test_a_partitioner_can_be_chosen(streams: Streams):
    """kafka.partitioner.class decides where records without a partition go."""
    topic, out = streams.kafka.topic(partitions=1), streams.kafka.topic("out", partitions=4)
    streams.kafka.produce(topic, [Record(value=b"x", key=b"always the same") for _ in range(40)])
    sink = {"kafka.partitioner.class": "org.apache.kafka.clients.producer.RoundRobinPartitioner"}
    query = streams.copy({"topic": out, **sink}, subscribe=topic)
    records = streams.wait_for(query, out, 40)
    assert {record.partition for record in records} == {0, 1, 2, 3}


class Pools:
    """The engine's pools of idle clients.

    Args:
        spark: The session.
    """

    def __init__(self, spark: SparkSession) -> None:
        jvm: Any = spark._jvm
        self._all = (jvm.headrace.kafka.ConsumerPool, jvm.headrace.kafka.ProducerPool)
        self.consumers, self.producers = self._all
        self._conf = spark.sparkContext._jsc.sc().conf()

    def configure(self) -> None:
        """Reads the application's settings, as the plugin does when the application starts."""
        for pool in self._all:
            pool.configure(self._conf)

    def evict(self) -> None:
        """Closes what is idle for too long, as the plugin does now and then."""
        for pool in self._all:
            pool.evict()


@pytest.fixture
def pools(spark: SparkSession) -> Iterator[Pools]:
    """The pools, with their usual settings again when the test has ended."""
    pools = Pools(spark)
    yield pools
    pools.configure()


def test_idle_consumers_are_capped(pools: Pools, set_application: Callable[[str, str], None], streams: Streams):
    """No more consumers than spark.kafka.consumer.cache.capacity wait for their next task."""
    topic = streams.kafka.topic(partitions=6)
    streams.kafka.produce(topic, [Record(value=b"x", partition=n) for n in range(6)])
    set_application("spark.kafka.consumer.cache.capacity", "2")
    pools.configure()
    assert streams.read(Mode.BATCH, subscribe=topic).count() == 6
    eventually(lambda: pools.consumers.size() == 2, PATIENCE)


def test_idle_clients_are_closed(pools: Pools, set_application: Callable[[str, str], None], streams: Streams):
    """Clients that nobody has used for longer than their timeout are closed."""
    topic = streams.kafka.topic(partitions=2)
    streams.kafka.produce(topic, [Record(value=b"x", partition=n) for n in range(2)])
    streams.write(streams.read(Mode.BATCH, subscribe=topic).select("value"), Mode.BATCH, topic=topic)
    pools.evict()
    assert pools.consumers.size() >= 2
    assert pools.producers.size() >= 1
    set_application("spark.kafka.consumer.cache.timeout", "1ms")
    set_application("spark.kafka.producer.cache.timeout", "1ms")
    pools.configure()

    def closed() -> bool:
        pools.evict()
        return bool(pools.consumers.size() == pools.producers.size() == 0)

    eventually(closed, PATIENCE)
