# SPDX-License-Identifier: Apache-2.0
"""A real Chromium, without a window, that all tests of a process share; each gets a page of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright

from headrace.dashboard.server import Server
from headrace.observe.feed import Feed
from tests.browser.shown import Shown
from tests.chromium import chromium

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

    Serve = Callable[[Callable[[], str | None]], str]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chromium()
    assert path is not None, "there is no Chromium; `make browser` installs it, or says how"
    # Its sandbox cannot be set up by root, and the pages here are our own.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=[*options, "--disable-dev-shm-usage"])
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of a browser that remembers nothing; anything that goes wrong on it fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    elsewhere: list[str] = []
    opened.on("request", lambda request: elsewhere.append(request.url) if "//127.0.0.1:" not in request.url else None)
    yield opened
    context.close()
    assert elsewhere == [], "the page must work without the internet"
    # That the application is gone is an error to the browser, and part of some tests.
    assert [error for error in errors if "net::ERR_" not in error] == []


@pytest.fixture
def shown(page: Page) -> Shown:
    """The page, as somebody looks at it."""
    return Shown(page)


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serves documents made by hand; returns the address."""
    servers: list[Server] = []

    def start(ask: Callable[[], str | None]) -> str:
        server = Server(("127.0.0.1", 0), Feed(ask), None)
        server.start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
