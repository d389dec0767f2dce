# SPDX-License-Identifier: Apache-2.0
"""A page that stays open: ten updates a second for ten minutes, and it neither grows nor lags behind."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from headrace.testing import eventually
from tests.unit.observe.documents import document, query

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import CDPSession, Page

    from tests.browser.shown import Shown

    Serve = Callable[[Callable[[], str | None]], str]

UPDATES = int(os.environ.get("HEADRACE_SOAK_UPDATES", "6000"))
WARM = UPDATES // 10
MEGABYTES = 1_000_000


class Engine:
    """Documents that all differ; the rate is their number."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> str:
        self.asked += 1
        now = int(time.time() * 1000)
        tail = [{"time_ms": now - 10 * back, "topic": "t", "key": "k", "value": f"{now} {back}"} for back in range(20)]
        return document(query(now, rate={"in": self.asked, "out": 1}, tail=tail), now_ms=now)


def size_of(session: CDPSession) -> tuple[int, int]:
    """How many nodes the page has, and bytes of JavaScript that are in use."""
    session.send("HeapProfiler.collectGarbage")
    nodes = session.send("Memory.getDOMCounters")["nodes"]
    return int(nodes), int(session.send("Runtime.getHeapUsage")["usedSize"])


def shown_number(page: Page) -> int:
    return int(page.locator("#tiles dd").first.locator("span").inner_text().removesuffix(" /s").replace(",", ""))


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_ten_updates_a_second_for_ten_minutes_leave_it_as_it_was(shown: Shown, serve: Serve) -> None:
    engine = Engine()
    shown.open(f"{serve(engine)}?every=0.1")
    for picture in ("heat", "graph"):
        shown.page.locator(f"#{picture}-details summary").click()
    session = shown.page.context.new_cdp_session(shown.page)
    while engine.asked < WARM:
        shown.page.wait_for_timeout(500)
    nodes, heap = size_of(session)
    while engine.asked < UPDATES:
        # It still answers, and shows what is new: what it draws is at most ten documents old.
        seen = engine.asked
        eventually(lambda: shown_number(shown.page) >= seen - 10)  # noqa: B023 called at once
        shown.page.wait_for_timeout(500)
    nodes_after, heap_after = size_of(session)
    assert nodes_after <= nodes * 1.1 + 100
    assert heap_after <= heap * 1.2 + 2 * MEGABYTES
