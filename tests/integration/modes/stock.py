# SPDX-License-Identifier: Apache-2.0
"""Runs a query as a stranger to Headrace would: plain PySpark, Spark's own connector, a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.engine import ivy
from tests.integration.streams import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.integration.streams import Bench

CONNECTOR = Path(__file__).parents[3] / "benchmarks" / "engines" / "stock-kafka.lock"


def run_stock(bench: Bench, source: str, sink: str, shape: str, conf: Mapping[str, str] | None = None) -> None:
    """Runs a micro-batch query over everything that is there now.

    Args:
        bench: The broker and the checkpoint.
        source: The topic to read.
        sink: The topic to write to.
        shape: ``copy`` or ``count``.
        conf: Settings of Spark's.
    """
    jars = ",".join(str(path) for path in ivy.resolve(CONNECTOR))
    settings = " ".join(f"--conf {key}={value}" for key, value in (conf or {}).items())
    program = Path(__file__).with_name("stock_application.py")
    subprocess.run(
        [sys.executable, str(program), bench.kafka.bootstrap, source, sink, bench.checkpoint, shape],
        env={**os.environ, "PYSPARK_SUBMIT_ARGS": f"--jars {jars} {settings} pyspark-shell"},
        check=True,
        timeout=PATIENCE.total_seconds() * 2,
    )
