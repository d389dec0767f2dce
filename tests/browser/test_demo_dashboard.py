# SPDX-License-Identifier: Apache-2.0
"""The dashboard of the demo, live: this is where the picture in the README comes from (`make screenshot`)."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from headrace.dashboard.client import Client
from headrace.dashboard.registry import running_applications
from headrace.errors import NotAnsweringError
from headrace.testing import eventually

if TYPE_CHECKING:
    from tests.browser.shown import Shown

DEMO = Path(__file__).parents[2] / "examples" / "demo"
VARIABLE = "HEADRACE_SCREENSHOT"
FULL_S = 80
"""So many seconds of measurements make a picture."""
PATIENCE = timedelta(minutes=12)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_the_demos_dashboard_shows_its_query_in_real_time(shown: Shown, tmp_path: Path) -> None:
    picture = Path(os.environ.get(VARIABLE, tmp_path / "dashboard.png"))
    command = [sys.executable, str(DEMO), "--warmup", "75", "--seconds", "25", "--epoch", "20"]
    with psutil.Popen(command, stdout=subprocess.DEVNULL) as demo:
        address = eventually(lambda: real_time_address(demo), PATIENCE) or ""
        shown.page.set_viewport_size({"width": 1360, "height": 1000})
        shown.open(address)
        shown.await_text("#state", "running")
        shown.await_text("#verdict", "end to end")
        shown.await_text("#tail", "score")
        eventually(lambda: shown.inked() > 5000)
        shown.page.screenshot(path=picture, full_page=True)
        demo.terminate()
    assert picture.stat().st_size > 50_000


def real_time_address(demo: psutil.Process) -> str | None:
    """Where the dashboard is once it has enough to show of real-time mode."""
    family = {child.pid for child in demo.children(recursive=True)}
    for application in running_applications():
        if application.pid in family:
            try:
                queries = Client(url=application.url).snapshot().queries
            except NotAnsweringError:
                return None
            if any(
                each.mode == "real-time" and sum(bool(s.buckets) for s in each.slices) >= FULL_S for each in queries
            ):
                return application.url
    return None
