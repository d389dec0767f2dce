# SPDX-License-Identifier: Apache-2.0
"""How much a batch reads at once, and in how many tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.local import Record
from headrace.testing import eventually
from tests.integration.kafka.streams import PATIENCE, Mode

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.testing import Kafka
    from tests.integration.kafka.streams import Options, Streams

MICRO_BATCH_MODES = pytest.mark.parametrize("mode", [Mode.MICRO_BATCH, Mode.AVAILABLE_NOW], ids=lambda mode: mode.value)


@pytest.fixture
def topic(kafka: Kafka) -> str:
    """Ten records in the first partition and thirty in the second."""
    name = kafka.topic(partitions=2)
    kafka.produce(name, [Record(value=f"{n}".encode(), partition=0) for n in range(10)])
    kafka.produce(name, [Record(value=f"{n}".encode(), partition=1) for n in range(30)])
    return name


def batch_sizes(query: StreamingQuery) -> list[int]:
    return [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]


@MICRO_BATCH_MODES
def test_batches_have_at_most_so_many_records(streams: Streams, topic: str, mode: Mode):
    """MaxOffsetsPerTrigger cuts the input into batches, each with a share of every partition by what is waiting."""
    out = streams.kafka.topic("out", partitions=1)
    query = streams.copy(out, mode, subscribe=topic, maxOffsetsPerTrigger=8)
    records = streams.wait_for(query, out, 40)
    eventually(lambda: sum(batch_sizes(query)) == 40, PATIENCE)
    assert batch_sizes(query) == [8] * 5
    assert sorted(int(record.value or b"") for record in records[:8]) == [0, 0, 1, 1, 2, 3, 4, 5]


def test_batches_wait_for_so_many_records(streams: Streams, topic: str, set_conf: Callable[[str, str], None]):
    """With minOffsetsPerTrigger a batch waits until so many records are there; the first does not wait."""
    # How often a query without a batch says what it has seen.
    set_conf("spark.sql.streaming.noDataProgressEventInterval", "100ms")
    out = streams.kafka.topic("out", partitions=1)
    query = streams.copy(out, Mode.MICRO_BATCH, subscribe=topic, minOffsetsPerTrigger=20)
    streams.wait_for(query, out, 40)
    streams.kafka.produce(topic, ["too few"] * 19)
    # Looking for new offsets does not make a batch of them.
    eventually(lambda: streams.newest(query) == 59, PATIENCE)
    assert len(streams.kafka.read(out)) == 40
    streams.kafka.produce(topic, ["enough"])
    streams.wait_for(query, out, 60)
    eventually(lambda: batch_sizes(query) == [40, 20], PATIENCE)


def test_batches_wait_only_so_long(streams: Streams, topic: str):
    """After maxTriggerDelay a batch runs with what is there."""
    out = streams.kafka.topic("out", partitions=1)
    options: Options = {"minOffsetsPerTrigger": 1000, "maxTriggerDelay": "1s"}
    query = streams.copy(out, Mode.MICRO_BATCH, subscribe=topic, **options)
    streams.wait_for(query, out, 40)
    streams.kafka.produce(topic, ["few"])
    streams.wait_for(query, out, 41)


def test_available_now_leaves_nothing_behind(streams: Streams, topic: str):
    """A minimum does not keep the last records of an available-now run back."""
    out = streams.kafka.topic("out", partitions=1)
    options: Options = {"minOffsetsPerTrigger": 15, "maxOffsetsPerTrigger": 15}
    query = streams.copy(out, Mode.AVAILABLE_NOW, subscribe=topic, **options)
    assert query.awaitTermination(60)
    assert len(streams.kafka.read(out)) == 40


def test_available_now_ends_with_what_was_there(streams: Streams, topic: str):
    """Records that come after the start of an available-now run are left for the next one."""
    out = streams.kafka.topic("out", partitions=1)
    checkpoint = streams.checkpoint()
    sink = {"checkpointLocation": checkpoint}
    first = streams.copy({"topic": out, **sink}, Mode.AVAILABLE_NOW, subscribe=topic, maxOffsetsPerTrigger=4)
    streams.wait_for(first, out, 4)
    streams.kafka.produce(topic, ["late"] * 5)
    assert first.awaitTermination(60)
    assert len(streams.kafka.read(out)) == 40
    streams.copy({"topic": out, **sink}, Mode.AVAILABLE_NOW, subscribe=topic).awaitTermination(60)
    assert len(streams.kafka.read(out)) == 45


@pytest.mark.parametrize(
    ("options", "tasks"),
    [
        pytest.param({}, 2, id="one-by-one"),
        pytest.param({"minPartitions": "8"}, 8, id="minPartitions"),
        pytest.param({"minPartitions": "1"}, 2, id="fewer-than-there-are"),
        pytest.param({"maxRecordsPerPartition": "10"}, 4, id="maxRecordsPerPartition"),
        pytest.param({"maxRecordsPerPartition": "10", "minPartitions": "8"}, 8, id="both"),
    ],
)
@pytest.mark.parametrize("mode", [Mode.BATCH, Mode.MICRO_BATCH], ids=lambda mode: mode.value)
def test_large_partitions_are_split(streams: Streams, topic: str, mode: Mode, options: dict[str, str], tasks: int):
    """MinPartitions and maxRecordsPerPartition divide partitions among more tasks; each record is still read once."""
    rows = streams.read(mode, subscribe=topic, **options).selectExpr(
        "CAST(spark_partition_id() AS STRING) key", "value"
    )
    out = streams.kafka.topic("out", partitions=1)
    query = streams.write(rows, mode, topic=out)
    records = streams.wait_for(query, out, 40) if query else streams.kafka.read(out)
    assert len({record.key for record in records}) == tasks
    assert sorted(int(record.value or b"") for record in records) == sorted([*range(10), *range(30)])
