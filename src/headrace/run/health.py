# SPDX-License-Identifier: Apache-2.0
"""Tells Kubernetes, systemd and whoever asks over HTTP how a supervised application is."""

from __future__ import annotations

import contextlib
import enum
import json
import os
import socket
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self

from headrace.errors import HealthAddressError

if TYPE_CHECKING:
    from headrace.run.causes import Cause


class State(enum.Enum):
    """Where a supervised application is."""

    STARTING = "starting"
    RUNNING = "running"
    WAITING = "waiting to start again"
    ENDING = "ending"
    GIVEN_UP = "given up"


class Health:
    """The state of a supervised application; answers ``/healthz`` and ``/readyz`` inside its ``with`` block.

    Args:
        address: ``HOST:PORT``, or ``:PORT`` for this machine alone; ``None`` for no answers over HTTP.

    Raises:
        HealthAddressError: Nobody can listen there.
    """

    def __init__(self, address: str | None) -> None:
        self.restarts = 0
        self._state = State.STARTING
        self._cause: Cause | None = None
        # Taken, so that children do not speak in our name.
        self._systemd = os.environ.pop("NOTIFY_SOCKET", None)
        self._server = None if address is None else _listen(address, self)

    @property
    def port(self) -> int | None:
        """Where it answers."""
        return None if self._server is None else self._server.server_port

    def __enter__(self) -> Self:
        """Begins to answer."""
        if self._server is not None:
            threading.Thread(target=self._server.serve_forever, name="headrace-health", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the answers."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def now(self, state: State, cause: Cause | None = None) -> None:
        """Notes a state, and what led to it."""
        if state is self._state:
            return
        self._state, self._cause = state, cause or self._cause
        if self._systemd is not None:
            _notify(self._systemd, state)

    def answer(self, path: str) -> tuple[HTTPStatus, dict[str, object]]:
        """Returns the status of an answer, and its body."""
        good = {"/healthz": self._state is not State.GIVEN_UP, "/readyz": self._state is State.RUNNING}
        if path not in good:
            return HTTPStatus.NOT_FOUND, {"paths": sorted(good)}
        body: dict[str, object] = {
            "state": self._state.value,
            "restarts": self.restarts,
            "last_cause": None if self._cause is None else self._cause.text,
        }
        return HTTPStatus.OK if good[path] else HTTPStatus.SERVICE_UNAVAILABLE, body


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], health: Health) -> None:
        super().__init__(address, _Handler)
        self.health = health


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    # Who connects and then says nothing does not keep a thread for ever.
    timeout = 10

    def do_GET(self) -> None:
        status, body = self.server.health.answer(self.path.partition("?")[0])
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Says nothing: somebody asks every few seconds."""


def _listen(address: str, health: Health) -> _Server:
    host, _, port = address.rpartition(":")
    try:
        return _Server((host or "127.0.0.1", int(port)), health)
    except (OSError, OverflowError, ValueError) as cause:
        raise HealthAddressError(address=address, reason=cause) from cause


def _notify(path: str, state: State) -> None:
    """Speaks as sd_notify(3) does; systemd takes the first READY for the end of the start, and ignores the others."""
    lines = [f"STATUS={state.value}"]
    if state is State.RUNNING:
        lines.append("READY=1")
    elif state is State.ENDING:
        lines.append("STOPPING=1")
    # A leading @ stands for a name that is no file. Nobody there is no reason to stop.
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link:
        link.sendto("\n".join(lines).encode(), path.replace("@", "\0", 1) if path.startswith("@") else path)
