# SPDX-License-Identifier: Apache-2.0
"""Runs every shape on two executors and prints what came of each, as JSON. Started by ``test_cluster.py``."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import headrace
from headrace.testing import Kafka, eventually
from tests.integration.modes.runs import Inputs, run_in_micro_batches, run_in_real_time
from tests.integration.modes.shapes import SHAPES, known
from tests.integration.probes import TaskRecorder, with_probes
from tests.integration.streams import PATIENCE, Bench, await_epochs, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from headrace.local import Record
    from tests.integration.modes.shapes import Shape

    Mode = tuple[str, Callable[[Bench, Shape, Inputs], object]]

MODES: tuple[Mode, ...] = (("real-time", run_in_real_time), ("micro-batch", run_in_micro_batches))
IN_BOTH_MODES = 3
VALUES = ("a", "b", "c", "d")
EPOCHS = 6


def main(bootstrap: str, folder: str) -> None:
    """Runs the table."""
    conf = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "3"}
    spark = headrace.session("shapes", master="local-cluster[2,4,1024]", conf=with_probes(conf))
    kafka = Kafka(bootstrap)
    inputs = Inputs.fill(kafka)
    outcomes = {}
    for number, shape in enumerate(SHAPES):
        checkpoints = f"{folder}/{number}"
        outcomes[shape.name] = outcome(Bench(spark, kafka, checkpoints), shape, inputs, MODES[: modes_of(number)])
    counted = count_over_epochs(Bench(spark, kafka, f"{folder}/epochs"))
    print(json.dumps({"shapes": outcomes, "counted": counted, "files": files_of_executors(spark)}))
    spark.stop()


def modes_of(number: int) -> int:
    """How many modes a shape is run in: micro-batches are Spark's, and a few shapes show that they find our source."""
    return len(MODES) if number < IN_BOTH_MODES else 1


def outcome(bench: Bench, shape: Shape, inputs: Inputs, modes: tuple[Mode, ...]) -> dict[str, object]:
    """Runs a shape in each mode; says where one differs from what is expected, and which executors took part."""
    recorder = TaskRecorder(bench.spark)
    expected = shape.expected_result()
    differences = {}
    for mode, run in modes:
        try:
            found = run(replace(bench, checkpoint=f"{bench.checkpoint}/{mode}"), shape, inputs)
            differences[mode] = None if found == expected else f"expected {expected}, found {found}"
        except Exception as error:  # noqa: BLE001 the other shapes still have to run; the test shows this one
            differences[mode] = f"{type(error).__name__}: {error}"
    # A stopped query's tasks end a little later. If one did while Spark hands out the next query's tasks, its executor
    # could be given all of them: Spark asks only that one then.
    eventually(lambda: all(task.ended_ms is not None for task in recorder.tasks()), PATIENCE)
    executors = sorted({task.executor for task in recorder.tasks()})
    recorder.close()
    return {**differences, "executors": executors}


def files_of_executors(spark: SparkSession) -> list[str]:
    """Returns the class of the local file system of each task's executor."""
    tasks = spark.range(0, 8, 1, 8).selectExpr("reflect('headrace.probe.SharedClass', 'name') name")
    return [row.name for row in tasks.collect()]


def count_over_epochs(bench: Bench) -> dict[str, str]:
    """Counts the same four values in five epochs and, after a restart, in a sixth; returns what was said last."""
    source, sink = bench.kafka.topic("values"), bench.kafka.topic("counts")
    counts = bench.read(source).groupBy("value").count().selectExpr("value key", "cast(count as string) value")
    writer = bench.write(counts, sink)
    query = start_real_time(writer, "1 second")
    for _ in range(EPOCHS - 1):
        bench.kafka.produce(source, VALUES)
        await_epochs(query, 1)
    query.stop()
    bench.kafka.produce(source, VALUES)
    query = start_real_time(writer, "1 second")
    wanted = dict.fromkeys(VALUES, str(EPOCHS))
    last: dict[str, str] = {}

    def is_complete(records: list[Record]) -> bool:
        last.update({known(record.key).decode(): known(record.value).decode() for record in records})
        return last == wanted

    bench.kafka.read_until(sink, is_complete, timeout=PATIENCE)
    await_epochs(query, 1)
    query.stop()
    return last


if __name__ == "__main__":
    main(*sys.argv[1:])
