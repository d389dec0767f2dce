# SPDX-License-Identifier: Apache-2.0
"""Serves the page, the stream of documents behind it, and the metrics."""

from __future__ import annotations

import json
import math
import socket
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote, urlsplit

from headrace.dashboard.access import Access
from headrace.observe.feed import EVERY_S

if TYPE_CHECKING:
    from headrace.observe.feed import Feed

EVENTS = "/events"
SNAPSHOT = "/snapshot"
METRICS = "/metrics"

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STREAMS = 24
"""More than a team keeps open; each takes a thread."""
_ANSWER_S = 5
_END_S = 0.2
"""So long it takes to end at most."""
_ALIVE_S = 5
"""So long nothing may be said on a stream: then a comment is, which finds out whether somebody still listens."""


class Server(ThreadingHTTPServer):
    """Answers over HTTP until it is closed.

    Args:
        address: Host and port; port 0 is any free one.
        feed: What it tells.
        token: What others than this machine must know.

    Raises:
        OSError: Nobody can listen there.
    """

    daemon_threads = True
    # Those that still listen to a stream would keep it from closing.
    block_on_close = False

    def __init__(self, address: tuple[str, int], feed: Feed, token: str | None) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Handler)
        self.feed = feed
        self.access = Access(port=self.server_port, token=token)
        self.streams = threading.BoundedSemaphore(_STREAMS)

    def server_bind(self) -> None:
        """Binds as its base does, without asking for the host's full name: that may wait for a name server."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def start(self) -> None:
        """Begins to answer."""
        threading.Thread(target=self.serve_forever, args=(_END_S,), name="headrace-dashboard", daemon=True).start()

    def handle_error(self, *_: object) -> None:
        """Says nothing: who asks may leave at any time, and the application's stderr is not ours."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    # Who connects and then says nothing does not keep a thread for ever.
    timeout = 30

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        access = self.server.access
        is_page = url.path == "/"
        token = access.token_in(url.query)
        if is_page and token is not None:
            self._remember(token)
            return
        refusal = access.refusal(self.headers, is_page=is_page)
        if refusal is not None:
            self._send(HTTPStatus.FORBIDDEN, "text/plain; charset=utf-8", f"{refusal}\n".encode())
        elif url.path == EVENTS:
            self._stream(_pause(url.query))
        elif url.path in (SNAPSHOT, METRICS):
            self._send_document(url.path)
        else:
            self._send_file("index.html" if is_page else url.path[1:])

    def _remember(self, token: str) -> None:
        """Lets the browser keep the token, and takes it out of the address, which is easily shown to others."""
        self.send_response(HTTPStatus.SEE_OTHER)
        cookie = f"{self.server.access.cookie_name}={quote(token, safe='')}; HttpOnly; SameSite=Lax; Path=/"
        self._end_headers({"Location": "/", "Set-Cookie": cookie, "Content-Length": "0"})

    def _send_file(self, name: str) -> None:
        file = resources.files("headrace.dashboard") / "page" / name
        kind = _TYPES.get(name[name.rfind(".") :])
        # A name with a slash could lead elsewhere.
        if kind is None or "/" in name or "\\" in name or not file.is_file():
            self._send(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", b"there is no such page\n")
        else:
            self._send(HTTPStatus.OK, kind, file.read_bytes())

    def _send_document(self, path: str) -> None:
        with self.server.feed.read() as reader:
            sight = reader.next(_ANSWER_S)
        if sight is None or sight.document is None:
            text = b"Spark does not answer; it may be starting or ending\n"
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain; charset=utf-8", text)
        elif path == SNAPSHOT:
            self._send(HTTPStatus.OK, "application/json", sight.document.encode())
        else:
            self._send_metrics(sight.document)

    def _send_metrics(self, document: str) -> None:
        # Imported here: every application starts a server, and few are asked for metrics.
        from headrace.observe import prometheus  # noqa: PLC0415
        from headrace.observe.snapshot import Snapshot  # noqa: PLC0415

        text = prometheus.as_text(Snapshot.read(document))
        self._send(HTTPStatus.OK, prometheus.CONTENT_TYPE, text.encode())

    def _stream(self, pause_s: float) -> None:
        if not self.server.streams.acquire(blocking=False):
            self._send(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain; charset=utf-8", b"too many dashboards are open\n")
            return
        try:
            self.send_response(HTTPStatus.OK)
            self._end_headers({"Content-Type": "text/event-stream", "Connection": "close"})
            self._send_events(pause_s)
        except OSError:
            # Whoever listened has left.
            self.close_connection = True
        finally:
            self.server.streams.release()

    def _send_events(self, pause_s: float) -> None:
        # The browser asks again by itself, so soon after a break.
        self.wfile.write(b"retry: 1000\n\n")
        with self.server.feed.read(pause_s) as reader:
            while True:
                sight = reader.next(_ALIVE_S)
                if sight is None:
                    self.wfile.write(b": still here\n\n")
                elif sight.document is None:
                    self.wfile.write(b"event: silent\ndata: {}\n\n")
                else:
                    self.wfile.write(f"data: {_one_line(sight.document)}\n\n".encode())

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        self._end_headers({"Content-Type": kind, "Content-Length": str(len(content))})
        self.wfile.write(content)

    def _end_headers(self, headers: dict[str, str]) -> None:
        for name, value in {**_HEADERS, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def version_string(self) -> str:
        """Says no more than the name."""
        return "headrace"

    def log_message(self, *_: object) -> None:
        """Says nothing: somebody asks every second."""


def _one_line(document: str) -> str:
    """A line break would end the event; in JSON it can only stand between values."""
    return document if "\n" not in document and "\r" not in document else json.dumps(json.loads(document))


def _pause(query: str) -> float:
    """How many seconds the reader wants between two documents."""
    try:
        wanted = float(parse_qs(query).get("every", [""])[0])
    except ValueError:
        return EVERY_S
    return EVERY_S if math.isnan(wanted) else wanted
