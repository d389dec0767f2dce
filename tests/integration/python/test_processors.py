# SPDX-License-Identifier: Apache-2.0
"""Stateful processors in Python, in real-time mode: the results and the state of micro-batch mode, each at once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

from headrace.local import Record
from tests.integration.python.processors import OUTPUT, Alarm, Closing, Index, Keeper, Running, Totals
from tests.integration.streams import PATIENCE, await_epochs, run_micro_batches, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from tests.integration.streams import Bench

KEYS = 7
WORDS = ("one", "two", "three")


def grouped(records: DataFrame) -> DataFrame:
    return records.select(F.col("key").cast("string").alias("key"), F.col("value").cast("string").alias("text"))


def running(records: DataFrame) -> DataFrame:
    return grouped(records).groupBy("key").transformWithState(Running(), OUTPUT, "update", "none")


def totals(records: DataFrame) -> DataFrame:
    return grouped(records).groupBy("key").transformWithStateInPandas(Totals(), OUTPUT, "update", "none")


def keeping(records: DataFrame) -> DataFrame:
    return grouped(records).groupBy("key").transformWithState(Keeper(), OUTPUT, "update", "ProcessingTime")


def some(first: int, count: int) -> list[Record]:
    return [
        Record(key=f"key {number % KEYS}".encode(), value=WORDS[number % 3].encode())
        for number in range(first, first + count)
    ]


def by_key(records: list[Record]) -> dict[bytes | None, list[bytes | None]]:
    values = defaultdict(list)
    for record in records:
        values[record.key].append(record.value)
    return dict(values)


@pytest.mark.usefixtures("few_partitions")
@pytest.mark.parametrize("build", [running, totals, keeping], ids=["rows", "pandas", "what was just written"])
def test_real_time_and_micro_batch_give_the_same(bench: Bench, build: Callable[[DataFrame], DataFrame]) -> None:
    source = bench.kafka.topic("in", partitions=1)
    bench.kafka.produce(source, some(0, 100))
    micro, real = bench.kafka.topic("micro"), bench.kafka.topic("real")
    writer = replace(bench, checkpoint=f"{bench.checkpoint}-micro").write(build(bench.read(source)), micro)
    # Not availableNow: with timers of processing time, Spark goes on for ever.
    batches = writer.trigger(processingTime="0 seconds").start()
    bench.kafka.read_until(micro, 100, timeout=PATIENCE)
    batches.stop()
    query = start_real_time(bench.write(build(bench.read(source)), real))
    bench.kafka.read_until(real, 100, timeout=PATIENCE)
    assert by_key(bench.kafka.read(real)) == by_key(bench.kafka.read(micro))
    query.stop()


@pytest.mark.usefixtures("few_partitions")
@pytest.mark.parametrize("build", [running, totals], ids=["rows", "pandas"])
def test_each_record_is_answered_without_a_further_one(bench: Bench, build: Callable[[DataFrame], DataFrame]) -> None:
    source, sink = bench.kafka.topic("in"), bench.kafka.topic("out")
    query = start_real_time(bench.write(build(bench.read(source)), sink))
    for number in range(1, 5):
        bench.kafka.produce(source, [Record(key=b"key", value=b"one")])
        bench.kafka.read_until(sink, number, timeout=PATIENCE)
    query.stop()


@pytest.mark.usefixtures("few_partitions")
def test_timers_of_event_time_follow_the_watermark(bench: Bench) -> None:
    """It moves when an epoch ends: no further record is needed behind the one that moves it."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out")
    rows = bench.read(source).select(F.col("key").cast("string").alias("key"), F.col("timestamp").alias("at"))
    closing = rows.withWatermark("at", "1 second").groupBy("key")
    answers = closing.transformWithState(Closing(), OUTPUT, "update", "EventTime")
    query = start_real_time(bench.write(answers, sink), "1 second")
    times = [("a", 1_000), ("b", 2_000), ("a", 3_000), ("later", 13_500)]
    bench.kafka.produce(source, [Record(key=key.encode(), value=b"", timestamp_ms=time) for key, time in times])
    bench.kafka.read_until(sink, 2, timeout=PATIENCE)
    query.stop()
    assert by_key(bench.kafka.read(sink)) == {b"a": [b"2 until 11000"], b"b": [b"1 until 12000"]}


@pytest.mark.usefixtures("few_partitions")
def test_state_goes_from_mode_to_mode(bench: Bench) -> None:
    """A checkpoint is continued in real time, over several epochs, and in micro-batch mode again."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out")
    writer = bench.write(running(bench.read(source)), sink)
    bench.kafka.produce(source, some(0, 30))
    run_micro_batches(writer)
    query = start_real_time(writer, "1 second")
    for first in (30, 60):
        bench.kafka.produce(source, some(first, 30))
        bench.kafka.read_until(sink, first + 30, timeout=PATIENCE)
        await_epochs(query, 2)
    query.stop()
    bench.kafka.produce(source, some(90, 30))
    run_micro_batches(writer)
    counts = {
        key: [int(str(value, "utf-8").split()[0]) for value in values if value is not None]
        for key, values in by_key(bench.kafka.read(sink)).items()
    }
    assert {key: sorted(set(found)) for key, found in counts.items()} == {
        f"key {key}".encode(): list(range(1, len(range(key, 120, KEYS)) + 1)) for key in range(KEYS)
    }


@pytest.mark.usefixtures("few_partitions")
def test_timers_fire_while_nothing_comes(bench: Bench) -> None:
    """Long before the epoch ends, and by the clock: a timer that is set now is not one of the epoch's start."""
    source, sink = bench.kafka.topic("in"), bench.kafka.topic("out")
    rows = grouped(bench.read(source)).groupBy("key").transformWithState(Alarm(), OUTPUT, "update", "ProcessingTime")
    query = start_real_time(bench.write(rows, sink))
    for number in range(1, 4):
        bench.kafka.produce(source, [Record(key=b"key", value=f"round {number}".encode())])
        bench.kafka.read_until(sink, number, timeout=PATIENCE)
    query.stop()
    assert [str(value, "utf-8").rpartition(" ")[0] for value in bench.kafka.values(sink) if value] == [
        "round 1",
        "round 2",
        "round 3",
    ]


@pytest.mark.usefixtures("few_partitions")
def test_a_row_may_need_many_calls(bench: Bench) -> None:
    """More than may be posted before somebody reads the answers."""
    source, sink = bench.kafka.topic("in"), bench.kafka.topic("out")
    rows = grouped(bench.read(source)).groupBy("key").transformWithState(Index(), OUTPUT, "update", "none")
    query = start_real_time(bench.write(rows, sink))
    bench.kafka.produce(source, [Record(key=b"a", value=b"one"), Record(key=b"a", value=b"two")])
    records = bench.kafka.read_until(sink, 2, timeout=PATIENCE)
    assert [record.value for record in records] == [b"one", b"two"]
    query.stop()
