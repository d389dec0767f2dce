# SPDX-License-Identifier: Apache-2.0
"""`headrace.drain`: a query under load ends in good order, and its next start repeats nothing and misses nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

import headrace
from tests.integration.load import Load
from tests.integration.streams import PATIENCE, run_micro_batches, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

    from tests.integration.streams import Bench


def copies(records: DataFrame) -> DataFrame:
    return records.select("key", "value")


def copies_through_python(records: DataFrame) -> DataFrame:
    return records.select("key", F.udf(lambda text: text, "string")(F.col("value").cast("string")).alias("value"))


def copies_of_batches(records: DataFrame) -> DataFrame:
    return records.select("key", "value").mapInArrow(lambda batches: batches, "key binary, value binary")


def counts(records: DataFrame) -> DataFrame:
    return records.groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))


@pytest.mark.usefixtures("few_partitions")
@pytest.mark.parametrize(
    ("build", "delivery"),
    [
        (copies, "at-least-once"),
        (copies, "exactly-once"),
        (copies_through_python, "at-least-once"),
        (copies_through_python, "exactly-once"),
        (copies_of_batches, "at-least-once"),
        (counts, "at-least-once"),
    ],
)
def test_the_next_start_repeats_nothing(bench: Bench, build: Callable[[DataFrame], DataFrame], delivery: str) -> None:
    """The count of the only key numbers its records: every number must come once, in order, in both cases."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)

    def start() -> StreamingQuery:
        return start_real_time(bench.write(build(bench.read(source)), sink).option("delivery", delivery))

    with Load(bench.kafka, source) as load:
        for more in (50, 100):
            query = start()
            already = len(bench.kafka.read(sink, committed=True))
            bench.kafka.read_until(sink, already + more, committed=True, timeout=PATIENCE)
            headrace.drain(query)
            assert not query.isActive
    query = start()
    bench.kafka.read_until(sink, load.sent, committed=True, timeout=PATIENCE)
    headrace.drain(query)
    assert bench.kafka.values(sink, committed=True) == load.values


def test_no_epoch_ends_behind_the_last(bench: Bench) -> None:
    """Spark takes it for a failure if a query is stopped while it waits to write the log of an epoch."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    query = start_real_time(bench.write(copies(bench.read(source)), sink))
    bench.kafka.produce(source, ["a"])
    bench.kafka.read_until(sink, 1, timeout=PATIENCE)
    headrace.drain(query)
    assert [path.name for path in Path(bench.checkpoint, "commits").iterdir() if path.name.isdigit()] == ["0"]


def test_a_busy_micro_batch_query_ends_with_its_batch(bench: Bench) -> None:
    """Between two of its batches is hardly a moment; so it gets no further one."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    with Load(bench.kafka, source) as load:
        for more in (50, 100):
            query = bench.write(copies(bench.read(source)), sink).trigger(processingTime="0 seconds").start()
            already = len(bench.kafka.read(sink))
            bench.kafka.read_until(sink, already + more, timeout=PATIENCE)
            headrace.drain(query)
    run_micro_batches(bench.write(copies(bench.read(source)), sink))
    assert bench.kafka.values(sink) == load.values


def test_a_micro_batch_query_is_stopped_between_two_batches(bench: Bench) -> None:
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    query = bench.write(copies(bench.read(source)), sink).trigger(processingTime="0 seconds").start()
    bench.kafka.produce(source, ["a"])
    bench.kafka.read_until(sink, 1, timeout=PATIENCE)
    headrace.drain(query)
    assert not query.isActive
    query = bench.write(copies(bench.read(source)), sink).trigger(processingTime="0 seconds").start()
    bench.kafka.produce(source, ["b"])
    bench.kafka.read_until(sink, 2, timeout=PATIENCE)
    headrace.drain(query)
    assert bench.kafka.values(sink) == [b"a", b"b"]
