# SPDX-License-Identifier: Apache-2.0
"""What makes real-time mode real-time, seen by a Spark listener: without it each of these would be different."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

from headrace.local import Record
from tests.integration.modes.orders import orders
from tests.integration.modes.shapes import out, parsed
from tests.integration.probes import jvm_class
from tests.integration.streams import PATIENCE, await_epochs, run_micro_batches, start_real_time

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import DataStreamWriter

    from headrace.testing import Kafka
    from tests.integration.probes import Task, TaskRecorder
    from tests.integration.streams import Bench

SOURCES, REPARTITIONED, AGGREGATED = 2, 3, 4
EPOCH_MS = 3000


@pytest.fixture
def source(kafka: Kafka) -> str:
    return kafka.topic("orders", partitions=SOURCES)


@pytest.fixture
def sink(kafka: Kafka) -> str:
    return kafka.topic("totals")


@pytest.fixture
def three_stages(bench: Bench, source: str, sink: str) -> DataStreamWriter:
    """A query with two shuffles."""
    rows = parsed(bench.read(source)).repartition(REPARTITIONED)
    return bench.write(out(rows.groupBy("card").count(), "card", "count"), sink)


def epochs_of(tasks: list[Task]) -> dict[int, list[Task]]:
    epochs: dict[int, list[Task]] = defaultdict(list)
    for task in tasks:
        epochs[task.epoch].append(task)
    return dict(epochs)


def test_all_stages_run_at_once_and_as_long_as_the_epoch(
    three_stages: DataStreamWriter, recorder: TaskRecorder
) -> None:
    """Every task of every stage begins before any ends, and none ends before the epoch does."""
    query = start_real_time(three_stages, f"{EPOCH_MS} milliseconds")
    last = await_epochs(query, 2)
    query.stop()
    finished = {epoch: tasks for epoch, tasks in epochs_of(recorder.tasks(query.id)).items() if epoch <= last}
    assert len(finished) >= 2
    for tasks in finished.values():
        stages = [task.stage for task in tasks]
        assert sorted(stages.count(stage) for stage in set(stages)) == [SOURCES, REPARTITIONED, AGGREGATED]
        assert all(task.succeeded for task in tasks)
        ends = [task.ended_ms for task in tasks if task.ended_ms is not None]
        assert max(task.started_ms for task in tasks) < min(ends)
        # The epoch's length counts from its planning, a moment before its tasks are launched.
        assert min(ends) - min(task.started_ms for task in tasks) > EPOCH_MS / 2


@pytest.mark.usefixtures("few_partitions")
def test_in_micro_batch_mode_stages_run_one_after_the_other(
    kafka: Kafka, source: str, three_stages: DataStreamWriter, recorder: TaskRecorder
) -> None:
    """The same listener sees the other mode for what it is."""
    kafka.produce(source, (order.as_record() for order in orders(0, 10)))
    query = run_micro_batches(three_stages)
    first = epochs_of(recorder.tasks(query.id))[0]
    stages = sorted({task.stage for task in first})
    assert len(stages) == 3
    for earlier, later in itertools.pairwise(stages):
        ends = [task.ended_ms for task in first if task.stage == earlier and task.ended_ms is not None]
        assert max(ends) <= min(task.started_ms for task in first if task.stage == later)


def shuffle_files(spark: SparkSession) -> set[str]:
    return set(jvm_class(spark, "org.apache.spark.headrace.ShuffleFiles").names())


def test_no_shuffle_file_is_written(bench: Bench, source: str, sink: str, three_stages: DataStreamWriter) -> None:
    """Records pass two shuffles without touching a disk."""
    bench.kafka.produce(source, (order.as_record() for order in orders(0, 100)))
    before = shuffle_files(bench.spark)
    start_real_time(three_stages)
    bench.kafka.read_until(sink, 100, timeout=PATIENCE)
    assert shuffle_files(bench.spark) <= before


@pytest.mark.usefixtures("few_partitions")
def test_a_micro_batch_writes_shuffle_files(bench: Bench, source: str, three_stages: DataStreamWriter) -> None:
    """The same look at the disk finds the files of the other mode."""
    bench.kafka.produce(source, (order.as_record() for order in orders(0, 100)))
    before = shuffle_files(bench.spark)
    run_micro_batches(three_stages)
    assert shuffle_files(bench.spark) - before


def test_results_come_out_before_the_epoch_ends(
    kafka: Kafka, source: str, sink: str, three_stages: DataStreamWriter, recorder: TaskRecorder
) -> None:
    """A result is there while the very tasks that made it still run, and a second one for a second record."""
    query = start_real_time(three_stages)
    for count in (1, 2):
        kafka.produce(source, [Record(key=b"card-1", value=orders(1, 1)[0].as_json().encode())])
        results = kafka.read_until(sink, count, timeout=PATIENCE)
        assert [(record.key, record.value) for record in results][-1] == (b"card-1", str(count).encode())
    tasks = recorder.tasks(query.id)
    assert len(tasks) == SOURCES + REPARTITIONED + AGGREGATED
    assert {task.epoch for task in tasks} == {0}
    assert all(task.ended_ms is None for task in tasks)
    assert query.lastProgress is None
