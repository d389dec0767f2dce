# SPDX-License-Identifier: Apache-2.0
"""The same shapes where driver and executors are processes of their own, and records cross the network between stages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.modes.shapes import SHAPES

if TYPE_CHECKING:
    from headrace.testing import Kafka

ROOT = Path(__file__).parents[3]
TIMEOUT_SECONDS = 400


@pytest.fixture(scope="module")
def outcomes(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What became of each shape; one application runs them all."""
    folder = tmp_path_factory.mktemp("cluster")
    command = [sys.executable, "-m", "tests.integration.modes.on_cluster", kafka.bootstrap, str(folder)]
    finished = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS - 10
    )
    assert finished.returncode == 0, finished.stderr[-5000:]
    outcomes: dict[str, dict[str, Any]] = json.loads(finished.stdout.splitlines()[-1])
    return outcomes


@pytest.mark.timeout(TIMEOUT_SECONDS)
@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
@pytest.mark.parametrize("name", [shape.name for shape in SHAPES])
def test_on_two_executors(outcomes: dict[str, dict[str, Any]], name: str, mode: str) -> None:
    """Each shape gives the same on two executors as on one machine, in both modes, and both executors take part."""
    assert outcomes[name][mode] is None
    assert outcomes[name]["executors"] == ["0", "1"]
