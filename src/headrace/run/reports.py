# SPDX-License-Identifier: Apache-2.0
"""What an application tells the process that supervises it, and the line between the two."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.run.causes import Cause
    from headrace.run.positions import Position

VARIABLE = "HEADRACE_SUPERVISOR"
"""In the environment of a supervised application: the descriptor of its end of the line."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reads:
    """A query reads, or there is more for it to read."""

    query: str
    position: Position


@dataclass(frozen=True, kw_only=True, slots=True)
class Ready:
    """Whether all queries read."""

    is_ready: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Failed:
    """The application ends with an error."""

    cause: Cause


Report = Reads | Ready | Failed


class Line:
    """The application's end."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def tell(self, report: Report) -> None:
        """Sends a report. One that nobody takes any more is dropped: `is_cut` says so."""
        with self._lock, suppress(OSError):
            self._connection.send(report)

    def is_cut(self) -> bool:
        """Says whether the supervisor is gone: it never sends anything, so there is nothing else to read."""
        return self._connection.poll()


def line_to_supervisor() -> Line | None:
    """Takes this process's line out of the environment; ``None`` if nobody supervises it."""
    descriptor = os.environ.pop(VARIABLE, None)
    if descriptor is None:
        return None
    # It is this process's own: a child that inherited it would keep the line open.
    os.set_inheritable(int(descriptor), False)  # noqa: FBT003 it takes no keywords
    return Line(Connection(int(descriptor)))
