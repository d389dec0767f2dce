# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "chromium.py"


def run(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(PROGRAM)], env=environment, check=False, capture_output=True, text=True)


def test_where_it_cannot_be_installed_one_line_says_how_to_get_it() -> None:
    finished = run(PATH="/nowhere")
    assert finished.returncode == 1
    (line,) = finished.stderr.splitlines()
    assert "apt install chromium" in line


def test_a_browser_that_is_named_is_enough() -> None:
    assert run(PATH="/nowhere", HEADRACE_CHROMIUM="/opt/chrome").returncode == 0
