# SPDX-License-Identifier: Apache-2.0
"""Runs every shape on two executors and prints what came of each, as JSON. Started by ``test_cluster.py``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import headrace
from headrace.testing import Kafka
from tests.integration.modes.runs import Inputs, run_micro_batch, run_real_time
from tests.integration.modes.shapes import SHAPES
from tests.integration.probes import TaskRecorder, with_probes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.integration.modes.shapes import Shape


def main(bootstrap: str, folder: str) -> None:
    """Runs the table."""
    conf = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "3"}
    spark = headrace.session("shapes", master="local-cluster[2,4,1024]", conf=with_probes(conf))
    inputs = Inputs.fill(Kafka(bootstrap))
    print(json.dumps({shape.name: outcome(spark, shape, inputs, Path(folder)) for shape in SHAPES}))
    spark.stop()


def outcome(spark: SparkSession, shape: Shape, inputs: Inputs, folder: Path) -> dict[str, object]:
    """Runs a shape in both modes; says where either differs from what is expected, and which executors took part."""
    recorder = TaskRecorder(spark)
    expected = shape.expected_result()
    differences = {}
    for mode, run in {"micro-batch": run_micro_batch, "real-time": run_real_time}.items():
        try:
            found = run(spark, shape, inputs, str(folder / mode / shape.name.replace(" ", "-")))
            differences[mode] = None if found == expected else f"expected {expected}, found {found}"
        except Exception as error:  # noqa: BLE001 the other shapes still have to run; the test shows this one
            differences[mode] = f"{type(error).__name__}: {error}"
    executors = sorted({task.executor for task in recorder.tasks()})
    recorder.close()
    return {**differences, "executors": executors}


if __name__ == "__main__":
    main(*sys.argv[1:])
