# SPDX-License-Identifier: Apache-2.0
"""The dashboard of this process: begins with Spark, ends with the process."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.dashboard.address import LOOPBACK, Address, as_url
from headrace.dashboard.registry import announce
from headrace.dashboard.server import Server
from headrace.errors import DashboardAddressError
from headrace.observe.feed import Feed
from headrace.run.saying import say

if TYPE_CHECKING:
    from headrace.observe.otel import Sender


class Dashboard:
    """A dashboard, from `open` to `close`.

    Args:
        address: Where it listens.
        name: What its application is called.
        feed: What it shows.
    """

    def __init__(self, address: Address, name: str, feed: Feed) -> None:
        self._address = address
        self._name = name
        self._feed = feed
        self._running = contextlib.ExitStack()
        self.url = ""
        """What to type into a browser, once it is open."""

    def open(self) -> None:
        """Begins to serve.

        Raises:
            DashboardAddressError: Nobody can listen there.
        """
        token = self._address.token()
        server = self._listen(token)
        server.start()
        self._running.callback(server.server_close)
        self._running.callback(server.shutdown)
        # For those on this machine the way through the loopback is the one that is always there.
        near = LOOPBACK if self._address.host in ("0.0.0.0", "::") else self._address.host  # noqa: S104 compared only
        # A folder that cannot be written to keeps `headrace top` from finding us, and nothing else.
        with contextlib.suppress(OSError):
            self._running.enter_context(announce(self._name, as_url(near, server.server_port), token))
        self.url = as_url(self._address.host, server.server_port, token)

    def close(self) -> None:
        """Ends it; does nothing when it is not open."""
        self._running.close()

    def _listen(self, token: str | None) -> Server:
        reason: OSError | None = None
        for port in self._address.ports:
            try:
                return Server((self._address.host, port), self._feed, token)
            except OSError as error:
                reason = error
        raise DashboardAddressError(address=f"{self._address.host}:{self._address.ports[0]}", reason=reason)


class Companion:
    """What shows an application that `headrace run` runs to others: begins when Spark does, and says where it is.

    Args:
        script: What the application is called.
        address: Where its dashboard is; ``None`` for none.
        otel: Where an OpenTelemetry collector takes its metrics, if one does.

    Raises:
        ExtraMissingError: What speaks with collectors is not installed.
    """

    def __init__(self, script: str, address: Address | None, otel: str | None = None) -> None:
        feed = Feed()
        self._dashboard = None if address is None else Dashboard(address, Path(script).name, feed)
        self._sender = None if otel is None else _sender(otel, feed)
        self._has_begun = False

    def start(self) -> None:
        """Begins, or says why not: an application is worth more than the view of it."""
        if self._has_begun:
            # The script has stopped its first context and made another one.
            return
        self._has_begun = True
        if self._sender is not None:
            self._sender.start()
        if self._dashboard is None:
            return
        try:
            self._dashboard.open()
        except DashboardAddressError as error:
            say(f"no dashboard: {error}")
        else:
            say(f"dashboard at {self._dashboard.url}")

    def stop(self) -> None:
        """Ends."""
        if self._sender is not None:
            self._sender.stop()
        if self._dashboard is not None:
            self._dashboard.close()


def _sender(url: str, feed: Feed) -> Sender:
    from headrace.observe.otel import Sender  # noqa: PLC0415 few have it installed

    return Sender(url, feed)


def serve_dashboard(address: str = ":0") -> str:
    """Serves the dashboard of this process until it ends; `headrace run` does it by itself.

    Args:
        address: ``HOST:PORT``, or ``:PORT`` for this machine alone; port 0 takes any free one. Elsewhere than on this
            machine's loopback interface a token is asked for, which is part of what is returned. It is the one in the
            environment variable ``HEADRACE_DASHBOARD_TOKEN`` or a new one.

    Returns:
        What to type into a browser.

    Raises:
        DashboardAddressError: Nobody can listen there.

    Example:
        >>> print(headrace.serve_dashboard())  # doctest: +SKIP
        http://127.0.0.1:43211/
    """
    dashboard = Dashboard(Address.parse(address), Path(sys.argv[0]).name or f"process {os.getpid()}", Feed())
    dashboard.open()
    return dashboard.url
