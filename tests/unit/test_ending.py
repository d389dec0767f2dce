# SPDX-License-Identifier: Apache-2.0
"""How a process ends that was told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from pyspark import SparkContext

from headrace.engine import gateway

DRAINED = "import sys; from headrace.run.application import _drained; sys.stdout.write('words'); _drained(None)"
# A signal that is blocked has as little effect as one to the first process of a container.
SPARED = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})"


@pytest.mark.parametrize(
    ("program", "ends"),
    [
        pytest.param(DRAINED, (-signal.SIGTERM, ""), id="as Python does"),
        pytest.param(f"{SPARED}; {DRAINED}", (128 + signal.SIGTERM, "words"), id="also if the kernel spares it"),
    ],
)
def test_a_drained_application_ends(program: str, ends: tuple[int, str]) -> None:
    command = [sys.executable, "-c", f"{program}; print('and goes on')"]
    # Else there would be nothing left to flush.
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)
    assert (finished.returncode, finished.stdout) == ends, finished.stderr


def test_a_jvm_is_stopped_while_its_context_is_being_made(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as jvm:  # noqa: S607 like PySpark's JVM it ends with its input
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=jvm))
        monkeypatch.setattr(SparkContext, "_active_spark_context", object.__new__(SparkContext))
        gateway.stop_jvm()
        assert jvm.returncode == 0
