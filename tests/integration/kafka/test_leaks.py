# SPDX-License-Identifier: Apache-2.0
"""What hundreds of epochs leave behind: nothing."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from headrace.testing import eventually
from tests.integration.kafka.driver import client_ids, requests, sockets, threads
from tests.integration.kafka.streams import PATIENCE, Mode, epochs

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from tests.integration.kafka.streams import Streams

SHORT = {"realTime": "50 milliseconds"}


@pytest.fixture(autouse=True)
def empty_pools(spark: SparkSession) -> None:
    """Closes the idle clients of earlier tests, which would be closed for their age in the middle of this one."""
    jvm: Any = spark._jvm
    jvm.headrace.kafka.ConsumerPool.closeAll()
    jvm.headrace.kafka.ProducerPool.closeAll()
    jvm.headrace.commit.Relay.closeAll()


@pytest.fixture
def short_epochs(set_conf: Callable[[str, str], None]) -> None:
    """Allows epochs far below any that make sense, to get through many."""
    set_conf("spark.sql.streaming.realTimeMode.minBatchDuration", "50ms")


def await_epoch(query: StreamingQuery, number: int) -> None:
    def reached() -> bool:
        assert query.exception() is None, query.exception()
        return epochs(query) >= number

    eventually(reached, timedelta(minutes=5))


def named(spark: SparkSession, *parts: str) -> Counter[str]:
    """Counts threads whose names have one of the parts."""
    return Counter(name for name in threads(spark) if any(part in name for part in parts))


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("short_epochs")
@pytest.mark.soak
def test_hundreds_of_epochs_leak_nothing(streams: Streams):
    """After 200 epochs the JVM has the threads, sockets and Kafka clients that it had after 50, the very same ones."""
    spark, kafka = streams.spark, streams.kafka
    topic, out = kafka.topic(), kafka.topic("out")
    kafka.produce(topic, ["x"] * 100)
    query = streams.start(streams.read(subscribe=topic).select("value"), SHORT, topic=out)
    streams.wait_for(query, out, 100)
    await_epoch(query, 50)
    kafka_threads, all_threads, open_sockets = named(spark, "kafka", "headrace"), len(threads(spark)), sockets(spark)
    clients = {kind: client_ids(spark, kind) for kind in ("consumer", "producer", "admin-client")}
    await_epoch(query, 200)
    kafka.produce(topic, ["y"] * 100)
    streams.wait_for(query, out, 200)
    assert {kind: client_ids(spark, kind) for kind in clients} == clients
    # A consumer in a task is registered, one that just changes hands is too; sockets may linger while they close.
    eventually(lambda: sockets(spark) <= open_sockets, PATIENCE)
    eventually(lambda: named(spark, "kafka", "headrace") == kafka_threads, PATIENCE)
    # Spark's own pools breathe; a thread that each epoch leaves would make 150.
    assert len(threads(spark)) < all_threads + 75


@pytest.mark.usefixtures("short_epochs")
def test_the_brokers_are_not_asked_between_epochs(streams: Streams):
    """Between two epochs the driver sends no request at all; only the watcher does, in its own time."""
    spark, topic, out = streams.spark, streams.kafka.topic(), streams.kafka.topic("out")
    before = client_ids(spark, "admin-client")
    # A watcher that looks once in ten minutes.
    rows = streams.read(subscribe=topic, partition__metadata__cache__ttl__ms=600_000).select("value")
    query = streams.start(rows, SHORT, topic=out)
    await_epoch(query, 5)
    (own,) = client_ids(spark, "admin-client") - before
    asked = requests(spark, own)
    await_epoch(query, 30)
    assert requests(spark, own) == asked


@pytest.mark.parametrize("mode", [Mode.MICRO_BATCH, Mode.REAL_TIME], ids=lambda mode: mode.value)
def test_a_stopped_query_leaves_no_client(streams: Streams, mode: Mode):
    """When a query has stopped, its consumers and its admin client are closed; a plain producer waits for the next."""
    spark = streams.spark
    topic, out = streams.kafka.topic(partitions=4), streams.kafka.topic("out")
    streams.kafka.produce(topic, ["x"] * 20)
    before = {kind: client_ids(spark, kind) for kind in ("consumer", "admin-client")}
    watchers = named(spark, "headrace-topic-watcher")
    for _ in range(3):
        query = streams.copy(out, mode, subscribe=topic)
        streams.wait_for(query, out, 1)
        query.stop()
        # Those of an earlier test may still be closing.
        eventually(lambda: all(client_ids(spark, kind) <= known for kind, known in before.items()), PATIENCE)
    assert named(spark, "headrace-topic-watcher") == watchers
    # Those that wait for a next epoch are closed some seconds after a query was stopped between two.
    eventually(lambda: len(client_ids(spark, "producer")) == 1, PATIENCE)
