# SPDX-License-Identifier: Apache-2.0
"""The dashboard as somebody looks at it: what stands where."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

PATIENCE_MS = 60_000
"""What is short on an idle machine may share this one with a whole test suite."""


class Shown:
    """A page with the dashboard.

    Args:
        page: The browser's.
    """

    def __init__(self, page: Page) -> None:
        self.page = page

    def open(self, address: str) -> None:
        self.page.goto(address)
        self.await_live()

    def await_live(self) -> None:
        expect(self.page.locator("#connection-text")).to_have_text("live", timeout=PATIENCE_MS)

    def await_text(self, place: str, text: str) -> None:
        """Waits until a place of the page has a text in it."""
        expect(self.page.locator(place)).to_contain_text(text, timeout=PATIENCE_MS)

    def choose(self, query: str) -> None:
        """Opens a query by its name."""
        link = self.page.locator("#queries a", has_text=query)
        expect(link).to_be_visible(timeout=PATIENCE_MS)
        link.click()
        expect(self.page.locator("#name")).to_have_text(query, timeout=PATIENCE_MS)

    def text(self, place: str) -> str:
        return self.page.locator(place).inner_text()

    def panel(self, title: str) -> Locator:
        """A part of the page, by its heading."""
        return self.page.get_by_role("region", name=re.compile(f"^{title}"))

    def inked(self) -> int:
        """How many pixels of the heat map are drawn."""
        script = """canvas => {
          const dots = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
          let count = 0;
          for (let at = 3; at < dots.length; at += 4) count += dots[at] > 0;
          return count;
        }"""
        return int(self.page.locator("#heat-canvas").evaluate(script))

    def ground(self) -> str:
        """The colour behind everything."""
        return str(self.page.evaluate("getComputedStyle(document.body).backgroundColor"))
