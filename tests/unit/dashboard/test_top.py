# SPDX-License-Identifier: Apache-2.0
"""`headrace top` on a terminal: it looks again and again, and q ends it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from headrace.dashboard.server import Server
from headrace.observe.feed import Feed
from tests.unit.observe.documents import document, query

if TYPE_CHECKING:
    from collections.abc import Iterator

ALTERNATE, NORMAL = b"\x1b[?1049h", b"\x1b[?1049l"


@pytest.fixture
def address() -> Iterator[str]:
    """Of an application whose query is called by how often it was asked for."""
    asked = iter(range(1000))
    server = Server(("127.0.0.1", 0), Feed(lambda: document(query(name=f"look {next(asked)}"))), None)
    server.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_it_looks_again_until_q_and_leaves_the_terminal_as_it_was(address: str) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "headrace.cli.main", "top", address]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "50"}
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        seen = read_until(ours, b"look 2")
        os.write(ours, b"xq")
        seen += read_until(ours, NORMAL)
        assert process.wait(30) == 0
    os.close(ours)
    assert seen.index(ALTERNATE) < seen.index(b"look 1") < seen.index(b"look 2") < seen.rindex(NORMAL)


def read_until(terminal: int, words: bytes) -> bytes:
    seen = b""
    while words not in seen:
        seen += os.read(terminal, 65536)
    return seen
