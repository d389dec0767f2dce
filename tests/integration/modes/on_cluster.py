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
from tests.integration.modes.shapes import SHAPES
from tests.integration.probes import TaskRecorder, with_probes
from tests.integration.streams import Bench

if TYPE_CHECKING:
    from tests.integration.modes.shapes import Shape


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
    print(json.dumps(outcomes))
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


if __name__ == "__main__":
    main(*sys.argv[1:])
