# SPDX-License-Identifier: Apache-2.0
"""What a stateful processor is given before its first record, in real-time mode: the same as in micro-batch mode."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

from headrace.local import Record
from headrace.testing import eventually
from tests.integration.python.processors import OUTPUT, Account, FramedAccount
from tests.integration.python.test_processors import by_key, grouped, some
from tests.integration.streams import PATIENCE, await_epochs, run_micro_batches, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, GroupedData

    from tests.integration.streams import Bench

# Some keys of the records, one with two rows; and one that no record has.
BEFORE = [("key 0", 100), ("key 1", 200), ("key 1", 1000), ("key 5", 300), ("nobody", 400)]


def opening(bench: Bench, rows: list[tuple[str, int]]) -> GroupedData:
    return bench.spark.createDataFrame(rows, "key string, amount long").groupBy("key")


def sums(bench: Bench) -> GroupedData:
    """An initial state that needs a shuffle of its own."""
    rows = bench.spark.createDataFrame(BEFORE, "key string, amount long")
    return rows.repartition(3).groupBy("key").agg(F.sum("amount").alias("amount")).groupBy("key")


def by_rows(bench: Bench, records: DataFrame) -> DataFrame:
    keyed = grouped(records).groupBy("key")
    return keyed.transformWithState(Account(), OUTPUT, "update", "none", opening(bench, BEFORE))


def by_frames(bench: Bench, records: DataFrame) -> DataFrame:
    keyed = grouped(records).groupBy("key")
    return keyed.transformWithStateInPandas(FramedAccount(), OUTPUT, "update", "none", opening(bench, BEFORE))


def by_rows_of_sums(bench: Bench, records: DataFrame) -> DataFrame:
    keyed = grouped(records).groupBy("key")
    return keyed.transformWithState(Account(), OUTPUT, "update", "ProcessingTime", sums(bench))


@pytest.mark.usefixtures("few_partitions")
@pytest.mark.parametrize("build", [by_rows, by_frames, by_rows_of_sums], ids=["rows", "pandas", "sums, with timers"])
def test_real_time_and_micro_batch_give_the_same(bench: Bench, build: Callable[[Bench, DataFrame], DataFrame]) -> None:
    source = bench.kafka.topic("in", partitions=1)
    bench.kafka.produce(source, some(0, 50))
    micro, real = bench.kafka.topic("micro"), bench.kafka.topic("real")
    writer = replace(bench, checkpoint=f"{bench.checkpoint}-micro").write(build(bench, bench.read(source)), micro)
    batches = writer.trigger(processingTime="0 seconds").start()
    bench.kafka.read_until(micro, 50, timeout=PATIENCE)
    batches.stop()
    query = start_real_time(bench.write(build(bench, bench.read(source)), real))
    bench.kafka.read_until(real, 50, timeout=PATIENCE)
    assert by_key(bench.kafka.read(real)) == by_key(bench.kafka.read(micro))
    query.stop()


@pytest.mark.usefixtures("few_partitions")
def test_it_is_handed_over_once(bench: Bench) -> None:
    """Not in a later epoch, nor by a later run, in either mode."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out")
    writer = bench.write(by_frames(bench, bench.read(source)), sink)

    def answer(number: int) -> None:
        bench.kafka.produce(source, [Record(key=b"key 0", value=b"x")])
        bench.kafka.read_until(sink, number, timeout=PATIENCE)

    query = start_real_time(writer, "1 second")
    answer(1)
    await_epochs(query, 2)
    answer(2)
    await_epochs(query, 2)
    query.stop()
    query = start_real_time(writer, "1 second")
    answer(3)
    await_epochs(query, 2)
    query.stop()
    bench.kafka.produce(source, [Record(key=b"key 0", value=b"x")])
    run_micro_batches(writer)
    assert bench.kafka.values(sink) == [b"101", b"102", b"103", b"104"]


@pytest.mark.usefixtures("few_partitions")
def test_one_that_cannot_be_taken_over_ends_the_query(bench: Bench) -> None:
    """Before a record has come."""
    source, sink = bench.kafka.topic("in"), bench.kafka.topic("out")
    keyed = grouped(bench.read(source)).groupBy("key")
    rows = keyed.transformWithState(Account(), OUTPUT, "update", "none", opening(bench, [("a", -1)]))
    query = start_real_time(bench.write(rows, sink))
    eventually(lambda: query.exception() is not None, PATIENCE)
    message = str(query.exception())
    assert "[PYTHON_FUNCTION_FAILED]" in message
    assert "failed on its initial state" in message
    assert "an account cannot be opened with a debt" in message
