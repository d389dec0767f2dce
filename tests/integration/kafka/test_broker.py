# SPDX-License-Identifier: Apache-2.0
"""Brokers that are not there, or not all the time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import IllegalArgumentException

from headrace.local import Broker, Record
from headrace.local.ports import free_ports
from headrace.testing import Kafka, eventually
from tests.integration.kafka.streams import PATIENCE, STREAMING, Mode, Streams, epochs, parameters

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.integration.kafka.streams import Options

IMPATIENT: Options = {"kafka.default.api.timeout.ms": 1500, "kafka.request.timeout.ms": 1000}


@pytest.fixture(scope="module")
def nowhere() -> str:
    """An address at which no broker listens."""
    return f"127.0.0.1:{free_ports(1)[0]}"


@pytest.mark.parametrize("mode", STREAMING, ids=lambda mode: mode.value)
def test_absent_brokers_are_named(streams: Streams, nowhere: str, mode: Mode):
    """A stream from brokers that are not there fails within the client's timeout, and the error names them."""
    rows = streams.read(mode, subscribe="orders", kafka__bootstrap__servers=nowhere, **IMPATIENT).select("value")
    failure = streams.failure(streams.start(rows, mode, topic=streams.kafka.topic("out")))
    assert failure.condition == "KAFKA_UNREACHABLE"
    assert failure.parameters == {"servers": nowhere}


def test_absent_brokers_are_named_in_batch(streams: Streams, nowhere: str):
    """So does a batch read."""
    with pytest.raises(IllegalArgumentException) as error:
        streams.read(Mode.BATCH, subscribe="orders", kafka__bootstrap__servers=nowhere, **IMPATIENT).collect()
    assert error.value.getCondition() == "KAFKA_UNREACHABLE"
    assert parameters(error.value) == {"servers": nowhere}


@pytest.mark.parametrize("mode", [Mode.MICRO_BATCH, Mode.REAL_TIME], ids=lambda mode: mode.value)
def test_absent_brokers_of_the_sink(streams: Streams, nowhere: str, mode: Mode):
    """A record for brokers that are not there fails the query once max.block.ms is over."""
    topic = streams.kafka.topic(partitions=1)
    streams.kafka.produce(topic, ["undeliverable"])
    sink: Options = {"topic": "out", "kafka.bootstrap.servers": nowhere, "kafka.max.block.ms": 500}
    failure = streams.failure(streams.copy(sink, mode, subscribe=topic))
    assert failure.condition == "KAFKA_WRITE_FAILED"


def test_brokers_that_come_back(spark: SparkSession, tmp_path: Path):
    """A real-time query outlives a crash of its broker: nothing fails, and nothing is lost."""
    with Broker(data=tmp_path / "broker") as broker:
        kafka = Kafka(broker.bootstrap)
        streams = Streams(spark, kafka, tmp_path)
        topic, out = kafka.topic(), kafka.topic("out", partitions=1)
        kafka.produce(topic, [Record(value=f"{n}".encode(), partition=n % 2) for n in range(100)])
        rows = streams.read(subscribe=topic).select("value")
        query = streams.start(rows, {"realTime": "1 second"}, topic=out)
        streams.wait_for(query, out, 100)
        # An epoch whose records are not acknowledged waits for the broker; one without records does not.
        read_by = epochs(query)
        eventually(lambda: epochs(query) > read_by, PATIENCE)
        broker.kill()
        broker.start()
        kafka.produce(topic, [Record(value=f"{n}".encode(), partition=n % 2) for n in range(100, 200)])
        records = streams.wait_for(query, out, lambda seen: len({r.value for r in seen}) == 200)
        query.stop()
    in_order = [int(record.value or b"") for record in records]
    for parity in (0, 1):
        assert [n for n in in_order if n % 2 == parity] == list(range(parity, 200, 2))
