# SPDX-License-Identifier: Apache-2.0
"""Programs that tests start, because they need a Spark of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]


def run_program(module: str, *arguments: str, seconds: float, env: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401
    """Runs a module of the tests as a program; returns the JSON that it printed last.

    Args:
        module: Its name below ``tests.integration``.
        arguments: Its command line.
        seconds: How long it may take.
        env: Further variables of its environment.
    """
    finished = subprocess.run(
        [sys.executable, "-m", f"tests.integration.{module}", *arguments],
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )
    assert finished.returncode == 0, finished.stderr[-5000:]
    return json.loads(finished.stdout.splitlines()[-1])
