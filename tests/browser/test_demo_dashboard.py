# SPDX-License-Identifier: Apache-2.0
"""The dashboard of the demo, live: this is where the picture in the README comes from (`make screenshot`)."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from playwright.sync_api import expect

from headrace.dashboard.registry import running_applications
from headrace.testing import eventually

if TYPE_CHECKING:
    from tests.browser.shown import Shown

DEMO = Path(__file__).parents[2] / "examples" / "demo"
VARIABLE = "HEADRACE_SCREENSHOT"
LONG_ENOUGH = re.compile(r"for 1\.[4-9] min")
IN_REAL_TIME = 2
"""The application of the demo that runs in real-time mode is its second."""
PATIENCE = timedelta(minutes=12)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_the_demos_dashboard_shows_its_query_in_real_time(shown: Shown, tmp_path: Path) -> None:
    picture = Path(os.environ.get(VARIABLE, tmp_path / "dashboard.png"))
    command = [sys.executable, str(DEMO), "--warmup", "75", "--seconds", "25", "--epoch", "20"]
    with psutil.Popen(command, stdout=subprocess.DEVNULL) as demo:
        address = eventually(functools.partial(real_time_address, demo, set()), PATIENCE) or ""
        shown.page.set_viewport_size({"width": 1360, "height": 1000})
        shown.open(address)
        shown.await_text("#facts", "real-time mode")
        # The page itself tells; asking the application all the time would be part of the picture.
        expect(shown.page.locator("#facts")).to_have_text(LONG_ENOUGH, timeout=PATIENCE / timedelta(milliseconds=1))
        shown.await_text("#verdict", "end to end")
        shown.await_text("#tail", "score")
        assert shown.inked() > 5000
        shown.page.screenshot(path=picture, full_page=True)
        demo.terminate()
    assert picture.stat().st_size > 50_000


def real_time_address(demo: psutil.Process, seen: set[int]) -> str | None:
    """Where the dashboard of the demo's second application is; its first one is in micro-batch mode."""
    for application in running_applications():
        if application.pid in seen:
            continue
        try:
            is_its = demo.pid in {parent.pid for parent in psutil.Process(application.pid).parents()}
        except psutil.NoSuchProcess:
            continue
        if is_its:
            seen.add(application.pid)
            if len(seen) == IN_REAL_TIME:
                return application.url
    return None
