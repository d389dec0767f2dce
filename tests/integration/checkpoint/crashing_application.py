# SPDX-License-Identifier: Apache-2.0
"""Counts in real time until its JVM vanishes in the middle of a commit. Started by ``test_crashes.py``."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from typing import Any

import headrace
from headrace.testing import Kafka
from tests.integration.checkpoint.files import SETTING
from tests.integration.probes import with_probes
from tests.integration.streams import Bench, start_real_time

VALUES = ("a", "b", "c")


def main(bootstrap: str, source: str, sink: str, checkpoint: str, crash: str) -> None:
    """Sends the same values over and over while the query runs; prints how the JVM ended."""
    file, step = json.loads(crash)
    conf = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        SETTING: "headrace.probe.CrashingCheckpoint",
        "spark.hadoop.headrace.probe.crash.file": file,
        "spark.hadoop.headrace.probe.crash.step": step,
    }
    spark = headrace.session("crashing", master="local[8]", conf=with_probes(conf))
    bench = Bench(spark, Kafka(bootstrap), checkpoint)
    counts = bench.read(source).groupBy("value").count().selectExpr("value key", "cast(count as string) value")
    start_real_time(bench.write(counts, sink), "1 second")
    gateway: Any = spark.sparkContext._gateway
    while gateway.proc.poll() is None:
        bench.kafka.produce(source, VALUES)
        with contextlib.suppress(subprocess.TimeoutExpired):
            gateway.proc.wait(0.2)
    print(json.dumps({"exit": gateway.proc.returncode}), flush=True)
    # Nothing of PySpark's can be closed any more.
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
