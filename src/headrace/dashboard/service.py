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
    from collections.abc import Callable


class Dashboard:
    """A dashboard, from `open` to `close`.

    Args:
        address: Where it listens.
        name: What its application is called.
        ask: What returns the engine's document.
    """

    def __init__(self, address: Address, name: str, ask: Callable[[], str | None] | None = None) -> None:
        self._address = address
        self._name = name
        self._ask = ask
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
        feed = Feed(self._ask)
        reason: OSError | None = None
        for port in self._address.ports:
            try:
                return Server((self._address.host, port), feed, token)
            except OSError as error:
                reason = error
        raise DashboardAddressError(address=f"{self._address.host}:{self._address.port}", reason=reason)


class Companion:
    """The dashboard of an application that `headrace run` runs: begins when Spark does, and says where it is."""

    def __init__(self, address: Address, script: str) -> None:
        self._dashboard = Dashboard(address, Path(script).name)

    def start(self) -> None:
        """Begins, or says why not: an application is worth more than the view of it."""
        if self._dashboard.url:
            # The script has stopped its first context and made another one.
            return
        try:
            self._dashboard.open()
        except DashboardAddressError as error:
            say(f"no dashboard: {error}")
        else:
            say(f"dashboard at {self._dashboard.url}")

    def stop(self) -> None:
        """Ends."""
        self._dashboard.close()


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
    dashboard = Dashboard(Address.parse(address), Path(sys.argv[0]).name or f"process {os.getpid()}")
    dashboard.open()
    return dashboard.url
