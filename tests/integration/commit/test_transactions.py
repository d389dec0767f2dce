# SPDX-License-Identifier: Apache-2.0
"""Exactly-once delivery: readers of committed records see each result once, soon, whatever the query goes through."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

from headrace.local import Record
from headrace.testing import eventually
from tests.integration.recorded import offset_recorded
from tests.integration.streams import PATIENCE, await_epochs, failure_of, run_micro_batches, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import DataStreamWriter

    from tests.integration.streams import Bench

# Hints that have nothing to do with pandas or Arrow.
pytestmark = pytest.mark.filterwarnings("ignore:Cannot infer the eval type from type hints")

FIRST, MORE, LAST = ([f"{word} {number}" for number in range(100)] for word in ("first", "more", "last"))


@pytest.fixture(autouse=True)
def long_epochs(set_conf: Callable[[str, str], None]) -> None:
    """As users have them; other tests count epochs, and have short ones."""
    set_conf("spark.headrace.realtime.epoch", "10m")


def copies(records: DataFrame) -> DataFrame:
    return records.select("key", "value")


def shouting(records: DataFrame) -> DataFrame:
    """Through a function in Python, which reads ahead of the sink."""

    def shout(text: str) -> str:
        if text.startswith("bad"):
            message = f"cannot shout {text}"
            raise ValueError(message)
        return text.upper()

    return records.select("key", F.udf(shout)(F.col("value").cast("string")).alias("value"))


def writer(bench: Bench, rows: DataFrame, sink: str, **options: str) -> DataStreamWriter:
    return bench.write(rows, sink).option("delivery", "exactly-once").options(**options)


def await_committed(bench: Bench, sink: str, number: int) -> list[str]:
    """Waits for so many results that everybody may see; returns all there are then."""
    bench.kafka.read_until(sink, number, committed=True, timeout=PATIENCE)
    return [(value or b"").decode() for value in bench.kafka.values(sink, committed=True)]


@pytest.mark.usefixtures("few_partitions")
@pytest.mark.parametrize("is_real_time", [True, False], ids=["real time", "micro-batches"])
def test_a_table_beside_the_stream_may_come_from_kafka_and_be_shuffled(bench: Bench, *, is_real_time: bool) -> None:
    """Its tasks have no sink to wait for, and what is done to it is done before the stream."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    table = bench.kafka.topic("table", partitions=1)
    bench.kafka.produce(table, [Record(key=b"a", value=b"Anna"), Record(key=b"a", value=b"Anna")])
    bench.kafka.produce(source, [Record(key=b"a", value=b"1")])
    names = bench.spark.read.format("kafka").option("kafka.bootstrap.servers", bench.kafka.bootstrap)
    people = names.option("subscribe", table).load().select("key", F.col("value").alias("name")).dropDuplicates(["key"])
    rows = bench.read(source).join(F.broadcast(people), "key").select(F.col("name").alias("value"))
    (start_real_time if is_real_time else run_micro_batches)(writer(bench, rows, sink))
    assert await_committed(bench, sink, 1) == ["Anna"]


@pytest.mark.parametrize("rows", [copies, shouting])
def test_results_are_seen_inside_the_epoch_and_once(bench: Bench, rows: Callable[[DataFrame], DataFrame]) -> None:
    """No further record and no end of an epoch is needed; a stop in its middle repeats nothing."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    expected: list[str] = []
    for values in (FIRST, MORE, LAST):
        query = start_real_time(writer(bench, rows(bench.read(source)), sink))
        bench.kafka.produce(source, values)
        expected += values if rows is copies else [value.upper() for value in values]
        assert await_committed(bench, sink, len(expected)) == expected
        query.stop()
    # What was on its way when a query stopped is aborted, if there was anything.
    assert offset_recorded(bench.kafka, bench.checkpoint, source) == len(expected)


def test_order_and_number_hold_while_commits_follow_one_another(bench: Bench) -> None:
    values = [f"{number}" for number in range(20_000)]
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    start_real_time(writer(bench, copies(bench.read(source)), sink, commitInterval="20ms"))
    for begin in range(0, len(values), 500):
        bench.kafka.produce(source, values[begin : begin + 500])
    assert await_committed(bench, sink, len(values)) == values


@pytest.mark.parametrize("rows", [copies, shouting])
def test_the_mode_may_change_on_the_same_checkpoint(bench: Bench, rows: Callable[[DataFrame], DataFrame]) -> None:
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    bench.kafka.produce(source, FIRST)
    run_micro_batches(writer(bench, rows(bench.read(source, maxOffsetsPerTrigger="30")), sink))
    query = start_real_time(writer(bench, rows(bench.read(source)), sink))
    bench.kafka.produce(source, MORE)
    await_committed(bench, sink, len(FIRST + MORE))
    query.stop()
    bench.kafka.produce(source, LAST)
    query = writer(bench, rows(bench.read(source)), sink).trigger(processingTime="0 seconds").start()
    expected = FIRST + MORE + LAST if rows is copies else [value.upper() for value in FIRST + MORE + LAST]
    assert await_committed(bench, sink, len(expected)) == expected
    query.stop()


def test_a_batch_that_is_run_again_writes_nothing_twice(bench: Bench) -> None:
    """As after a crash between the end of its tasks and Spark's own commit."""
    source, sink = bench.kafka.topic("in", partitions=2), bench.kafka.topic("out", partitions=1)
    bench.kafka.produce(source, FIRST)
    run_micro_batches(writer(bench, copies(bench.read(source)), sink))
    commits = Path(bench.checkpoint, "commits")
    for last in (commits / "0", commits / ".0.crc"):
        last.unlink()
    bench.kafka.produce(source, MORE)
    run_micro_batches(writer(bench, copies(bench.read(source)), sink))
    assert sorted(await_committed(bench, sink, len(FIRST + MORE))) == sorted(FIRST + MORE)


def test_dead_letters_are_in_the_same_transaction(bench: Bench) -> None:
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    letters = bench.kafka.topic("letters", partitions=1)
    for values in (["a", "bad 1", "b"], ["bad 2", "c"]):
        query = start_real_time(writer(bench, shouting(bench.read(source)), sink, deadLetterTopic=letters))
        bench.kafka.produce(source, values)
        bench.kafka.read_until(sink, 2 if values[0] == "a" else 3, committed=True, timeout=PATIENCE)
        query.stop()
    assert await_committed(bench, letters, 2) == ["bad 1", "bad 2"]
    assert await_committed(bench, sink, 3) == ["A", "B", "C"]


def test_records_that_are_dropped_are_progress_too(bench: Bench) -> None:
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out")
    start_real_time(writer(bench, copies(bench.read(source)).where("value = cast('none' as binary)"), sink))
    bench.kafka.produce(source, FIRST)
    eventually(lambda: offset_recorded(bench.kafka, bench.checkpoint, source) == len(FIRST), PATIENCE)


def test_the_number_of_tasks_may_change(bench: Bench, set_conf: Callable[[str, str], None]) -> None:
    """Within a run, with new partitions; and from run to run, with the option maxPartitions."""
    set_conf("spark.headrace.realtime.epoch", "1s")
    source, sink = bench.kafka.topic("in", partitions=3), bench.kafka.topic("out", partitions=1)
    expected: list[str] = []
    for partitions, tasks, values in ((4, 3, FIRST), (5, 1, MORE), (6, 2, LAST)):
        read = bench.read(source, maxPartitions=f"{tasks}")
        query = start_real_time(writer(bench, copies(read), sink), "1 second")
        bench.kafka.produce(source, values)
        await_epochs(query, 1)
        bench.kafka.topics.grow(source, partitions)
        bench.kafka.produce(source, [Record(value=f"grown {tasks}".encode(), partition=partitions - 1)])
        expected += [*values, f"grown {tasks}"]
        assert sorted(await_committed(bench, sink, len(expected))) == sorted(expected)
        query.stop()


SHAPES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "a shuffle": lambda records: records.select("value").repartition(2),
    "state": lambda records: records.groupBy("key").count().selectExpr("cast(count as string) as value"),
    "several sources": lambda records: records.select("value").union(records.select("value")),
    "a function of batches": lambda records: records.select("value").mapInArrow(
        lambda batches: batches, "value binary"
    ),
}


# Two sources of one topic Spark itself refuses in real time.
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "several sources"])
def test_what_cannot_be_promised_is_refused(bench: Bench, shape: str) -> None:
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out")
    bench.kafka.produce(source, FIRST)
    condition, message = failure_of(start_real_time(writer(bench, SHAPES[shape](bench.read(source)), sink)))
    assert condition == "EXACTLY_ONCE_IMPOSSIBLE"
    assert "cannot deliver exactly once" in message
    assert not bench.kafka.values(sink)


@pytest.mark.parametrize("shape", ["a shuffle", "state", "several sources", "divided", "coalesce"])
def test_what_cannot_be_promised_is_refused_in_micro_batches(bench: Bench, shape: str) -> None:
    source, sink = bench.kafka.topic("in", partitions=2), bench.kafka.topic("out")
    bench.kafka.produce(source, FIRST)
    records = bench.read(source, **({"minPartitions": "4"} if shape == "divided" else {}))
    rows = SHAPES[shape](records) if shape in SHAPES else records.select("value")
    rows = rows.coalesce(1) if shape == "coalesce" else rows
    condition, _ = failure_of(writer(bench, rows, sink).start())
    assert condition == "EXACTLY_ONCE_IMPOSSIBLE"
    assert not bench.kafka.values(sink)


def test_a_source_other_than_kafka_is_refused(bench: Bench) -> None:
    rows = bench.spark.readStream.format("rate").load().selectExpr("cast(value as string) as value")
    condition, _ = failure_of(writer(bench, rows, bench.kafka.topic("out")).start())
    assert condition == "EXACTLY_ONCE_IMPOSSIBLE"
