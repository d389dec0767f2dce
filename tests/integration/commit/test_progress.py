# SPDX-License-Identifier: Apache-2.0
"""Progress recorded inside a long epoch: where a query goes on after it ended without a word."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

from headrace.local import Record
from headrace.testing import eventually
from tests.integration.recorded import offset_recorded
from tests.integration.streams import PATIENCE, await_epochs, run_micro_batches, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import DataStreamWriter

    from tests.integration.probes import LogRecorder
    from tests.integration.streams import Bench

# Hints that have nothing to do with pandas or Arrow.
pytestmark = pytest.mark.filterwarnings("ignore:Cannot infer the eval type from type hints")

FIRST, MORE = [f"first {number}" for number in range(100)], [f"more {number}" for number in range(50)]


@pytest.fixture(autouse=True)
def long_epochs(set_conf: Callable[[str, str], None]) -> None:
    """As users have them; other tests count epochs, and have short ones."""
    set_conf("spark.headrace.realtime.epoch", "10m")


def copies(records: DataFrame) -> DataFrame:
    return records.select("key", "value")


def writer(bench: Bench, rows: DataFrame, sink: str) -> DataStreamWriter:
    return bench.write(rows, sink).option("commitInterval", "50ms")


def recorded(bench: Bench, topic: str, partition: int = 0) -> int:
    return offset_recorded(bench.kafka, bench.checkpoint, topic, partition)


def await_recorded(bench: Bench, topic: str, offset: int) -> None:
    eventually(lambda: recorded(bench, topic) >= offset, PATIENCE)


def as_bytes(values: list[str]) -> list[bytes]:
    return [value.encode() for value in values]


def test_what_is_recorded_is_not_read_again(bench: Bench) -> None:
    """Stopped in the middle of its first epoch: Spark itself has committed nothing."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    query = start_real_time(writer(bench, copies(bench.read(source)), sink), "5 seconds")
    bench.kafka.produce(source, FIRST)
    await_recorded(bench, source, len(FIRST))
    query.stop()
    bench.kafka.produce(source, MORE)
    query = start_real_time(writer(bench, copies(bench.read(source)), sink), "5 seconds")
    await_recorded(bench, source, len(FIRST) + len(MORE))
    query.stop()
    assert bench.kafka.values(sink) == as_bytes(FIRST + MORE)


def test_a_folder_above_the_checkpoint_may_have_any_name(bench: Bench, tmp_path: Path) -> None:
    """Spark's folder for the sources of a query has a name that others have too; progress belongs to one query."""
    bench = replace(bench, checkpoint=str(tmp_path / "sources" / "a"))
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    start_real_time(writer(bench, copies(bench.read(source)), sink))
    bench.kafka.produce(source, FIRST)
    await_recorded(bench, source, len(FIRST))


def test_micro_batches_go_on_where_the_last_record_of_progress_is(bench: Bench) -> None:
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    query = start_real_time(writer(bench, copies(bench.read(source)), sink))
    bench.kafka.produce(source, FIRST)
    await_recorded(bench, source, len(FIRST))
    query.stop()
    bench.kafka.produce(source, MORE)
    # Small batches: the first ones lie before what is recorded.
    run_micro_batches(writer(bench, copies(bench.read(source, maxOffsetsPerTrigger="30")), sink))
    assert bench.kafka.values(sink) == as_bytes(FIRST + MORE)


@pytest.mark.parametrize("run", [start_real_time, run_micro_batches], ids=["real time", "micro-batches"])
def test_records_that_retention_has_removed_since_are_not_missed(
    bench: Bench, run: Callable[[DataStreamWriter], object]
) -> None:
    """Spark's own offset may be older than anything that the topic still has."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    query = start_real_time(writer(bench, copies(bench.read(source)), sink))
    bench.kafka.produce(source, FIRST)
    await_recorded(bench, source, len(FIRST))
    query.stop()
    bench.kafka.topics.truncate(source, {0: len(FIRST)})
    bench.kafka.produce(source, MORE)
    run(writer(bench, copies(bench.read(source)), sink))
    eventually(lambda: bench.kafka.values(sink) == as_bytes(FIRST + MORE), PATIENCE)


def test_a_static_table_is_read_again_as_often_as_its_own_setting_says(
    bench: Bench, set_conf: Callable[[str, str], None]
) -> None:
    set_conf("spark.headrace.realtime.tableEpoch", "1s")
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    names = F.broadcast(bench.spark.createDataFrame([(b"first 0", "known")], "value binary, name string"))
    joined = bench.read(source).join(names, "value").selectExpr("name AS value")
    query = start_real_time(writer(bench, joined, sink), "1 second")
    bench.kafka.produce(source, FIRST)
    # The first epoch of a run is short for everyone.
    await_epochs(query, 3)
    assert bench.kafka.values(sink) == [b"known"]


def test_records_that_are_dropped_are_progress_too(bench: Bench) -> None:
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out")
    start_real_time(writer(bench, copies(bench.read(source)).where("value = cast('none' as binary)"), sink))
    bench.kafka.produce(source, FIRST)
    await_recorded(bench, source, len(FIRST))


@pytest.mark.parametrize("keep", [True, False], ids=["kept", "dropped"])
def test_behind_a_python_function_nothing_is_recorded_too_early(bench: Bench, *, keep: bool) -> None:
    """The function reads ahead of the sink: what it still has is not progress."""

    def slow_at_the_end(value: str) -> str:
        import time  # noqa: PLC0415 runs in the worker

        time.sleep(600 if value == "slow" else 0)
        return value

    source, sink = bench.kafka.topic("in", partitions=2), bench.kafka.topic("out")
    text = F.col("value").cast("string")
    rows = bench.read(source).select(F.udf(slow_at_the_end)(text).alias("value"))
    rows = rows if keep else rows.where("value = 'none'")
    start_real_time(writer(bench, rows, sink))
    bench.kafka.produce(source, [Record(partition=0, value=value) for value in as_bytes(FIRST)])
    await_recorded(bench, source, len(FIRST))
    bench.kafka.produce(source, [Record(partition=0, value=value) for value in (b"slow", b"behind it")])
    bench.kafka.produce(source, [Record(partition=1, value=value) for value in as_bytes(MORE)])
    # Both tasks record at the same times, and this one does.
    eventually(lambda: recorded(bench, source, 1) == len(MORE), PATIENCE)
    assert recorded(bench, source) == len(FIRST)


def test_the_first_epoch_of_each_run_is_as_short_as_its_trigger(bench: Bench) -> None:
    """And only that: in the second one nothing is committed by Spark, but progress is recorded."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    query = start_real_time(writer(bench, copies(bench.read(source)), sink), "1 second")
    await_epochs(query, 1)
    bench.kafka.produce(source, FIRST)
    await_recorded(bench, source, len(FIRST))
    query.stop()
    query = start_real_time(writer(bench, copies(bench.read(source)), sink), "1 second")
    await_epochs(query, 1)
    assert query.lastProgress is not None
    # The long one was not committed, and is run again; what was recorded in it is not read again.
    assert query.lastProgress.batchId == 1
    bench.kafka.produce(source, MORE)
    await_recorded(bench, source, len(FIRST) + len(MORE))
    query.stop()
    assert bench.kafka.values(sink) == as_bytes(FIRST + MORE)


def test_an_epoch_ends_with_its_progress_recorded(bench: Bench, set_conf: Callable[[str, str], None]) -> None:
    set_conf("spark.headrace.realtime.epoch", "1s")
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    query = start_real_time(
        bench.write(copies(bench.read(source)), sink).option("commitInterval", "1 second"), "1 second"
    )
    bench.kafka.produce(source, FIRST)
    bench.kafka.read_until(sink, len(FIRST), timeout=PATIENCE)
    await_epochs(query, 2)
    assert recorded(bench, source) == len(FIRST)


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_the_next_epoch_goes_on_with_the_producers_of_the_last(
    bench: Bench, set_conf: Callable[[str, str], None], log: LogRecorder, *, delivery: str
) -> None:
    """It shuts out nobody, and asks nothing; what it records is its own."""
    set_conf("spark.headrace.realtime.epoch", "1s")
    source, sink = bench.kafka.topic("in", partitions=2), bench.kafka.topic("out", partitions=1)
    rows = writer(bench, copies(bench.read(source)), sink).option("delivery", delivery)
    query = start_real_time(rows, "1 second")
    for times in range(1, 4):
        await_epochs(query, 1)
        bench.kafka.produce(source, [Record(partition=0, value=value) for value in as_bytes(FIRST)])
        await_recorded(bench, source, times * len(FIRST))
    await_epochs(query, 1)
    query.stop()
    assert log.text().count("Opening a producer for headrace-") == 2
    assert bench.kafka.values(sink, committed=True) == as_bytes(FIRST * 3)


def test_an_older_checkpoint_that_was_put_back_is_read_again(
    bench: Bench, set_conf: Callable[[str, str], None], log: LogRecorder
) -> None:
    set_conf("spark.headrace.realtime.epoch", "1s")
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    query = start_real_time(writer(bench, copies(bench.read(source)), sink), "1 second")
    bench.kafka.produce(source, FIRST)
    await_recorded(bench, source, len(FIRST))
    await_epochs(query, 2)
    query.stop()
    shutil.copytree(bench.checkpoint, f"{bench.checkpoint}-older")
    query = start_real_time(writer(bench, copies(bench.read(source)), sink), "1 second")
    bench.kafka.produce(source, MORE)
    await_recorded(bench, source, len(FIRST) + len(MORE))
    # The first progress of a run says where it is.
    await_epochs(query, 1)
    await_epochs(query, 3)
    # In an epoch that the older checkpoint does not know.
    bench.kafka.produce(source, ["last"])
    await_recorded(bench, source, len(FIRST) + len(MORE) + 1)
    query.stop()
    shutil.rmtree(bench.checkpoint)
    shutil.move(f"{bench.checkpoint}-older", bench.checkpoint)
    query = start_real_time(writer(bench, copies(bench.read(source)), sink), "1 second")
    bench.kafka.read_until(sink, len(FIRST) + 2 * (len(MORE) + 1), timeout=PATIENCE)
    query.stop()
    assert "an older checkpoint was put back" in log.text()


def test_a_copied_checkpoint_goes_on_by_itself(bench: Bench, log: LogRecorder) -> None:
    """From the same place as the original, which does not notice."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    query = start_real_time(writer(bench, copies(bench.read(source)), sink))
    bench.kafka.produce(source, FIRST)
    await_recorded(bench, source, len(FIRST))
    query.stop()
    copy, other = replace(bench, checkpoint=f"{bench.checkpoint}-copy"), bench.kafka.topic("other", partitions=1)
    shutil.copytree(bench.checkpoint, copy.checkpoint)
    bench.kafka.produce(source, MORE)
    query = start_real_time(writer(copy, copies(bench.read(source)), other))
    await_recorded(copy, source, len(FIRST) + len(MORE))
    query.stop()
    assert recorded(bench, source) == len(FIRST)
    query = start_real_time(writer(bench, copies(bench.read(source)), sink))
    await_recorded(bench, source, len(FIRST) + len(MORE))
    query.stop()
    assert bench.kafka.values(other) == as_bytes(MORE)
    assert bench.kafka.values(sink) == as_bytes(FIRST + MORE)
    assert "was copied or moved" in log.text()


@pytest.mark.parametrize("shape", ["state", "map"])
def test_other_queries_keep_their_epochs_and_say_so(bench: Bench, shape: str, log: LogRecorder) -> None:
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    rows = (
        bench.read(source).groupBy("key").count().selectExpr("cast(count as string) as value")
        if shape == "state"
        else bench.read(source).select("value").mapInArrow(lambda batches: batches, "value binary")
    )
    query = start_real_time(writer(bench, rows, sink), "1 second")
    await_epochs(query, 2)
    assert "Progress is committed at the end of each epoch" in log.text()
    assert not Path(bench.checkpoint, "headrace").exists()
