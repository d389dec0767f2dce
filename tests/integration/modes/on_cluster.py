# SPDX-License-Identifier: Apache-2.0
"""Runs every shape on two executors and prints what came of each, as JSON. Started by ``test_cluster.py``."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import headrace
from headrace.testing import Kafka
from tests.integration.modes.runs import Inputs, run_in_micro_batches, run_in_real_time
from tests.integration.modes.shapes import SHAPES, known
from tests.integration.probes import TaskRecorder, with_probes
from tests.integration.streams import PATIENCE, Bench, await_epochs, start_real_time

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.local import Record
    from tests.integration.modes.shapes import Shape

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
        outcomes[shape.name] = outcome(Bench(spark, kafka, checkpoints), shape, inputs)
    counted = count_over_epochs(Bench(spark, kafka, f"{folder}/epochs"))
    print(json.dumps({"shapes": outcomes, "counted": counted, "files": files_of_executors(spark)}))
    spark.stop()


def outcome(bench: Bench, shape: Shape, inputs: Inputs) -> dict[str, object]:
    """Runs a shape in both modes; says where either differs from what is expected, and which executors took part."""
    recorder = TaskRecorder(bench.spark)
    expected = shape.expected_result()
    differences = {}
    for mode, run in {"micro-batch": run_in_micro_batches, "real-time": run_in_real_time}.items():
        try:
            found = run(replace(bench, checkpoint=f"{bench.checkpoint}/{mode}"), shape, inputs)
            differences[mode] = None if found == expected else f"expected {expected}, found {found}"
        except Exception as error:  # noqa: BLE001 the other shapes still have to run; the test shows this one
            differences[mode] = f"{type(error).__name__}: {error}"
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
