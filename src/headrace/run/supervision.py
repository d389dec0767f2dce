# SPDX-License-Identifier: Apache-2.0
"""What supervising a query and supervising a process have in common: counting, telling, giving up."""

from __future__ import annotations

import datetime as dt
import time
from typing import TYPE_CHECKING

from headrace.errors import GaveUpError
from headrace.run.health import Health, State
from headrace.run.restarts import Attempts, Restarts
from headrace.run.saying import say

if TYPE_CHECKING:
    from headrace.run.causes import Cause
    from headrace.run.positions import Position


class Supervision:
    """One thing that is kept running.

    Args:
        what: Its name.
        restarts: How often it is started again.
        health: Who is told.
    """

    def __init__(self, what: str, restarts: Restarts, health: Health) -> None:
        self._what = what
        self._attempts = Attempts(restarts)
        self._health = health
        self._before: dict[str, Position] = {}
        self._now: dict[str, Position] = {}
        self._ready_since: float | None = None

    def starts(self) -> None:
        """Notes that it is started."""
        self._before |= self._now
        self._now = {}
        self._ready_since = None
        self._health.now(State.STARTING)

    def is_ready(self, ready: bool) -> None:  # noqa: FBT001 a report, not a switch
        """Notes whether all its queries read."""
        if ready and self._ready_since is None:
            self._ready_since = time.monotonic()
        self._health.now(State.RUNNING if ready else State.STARTING)

    def reads(self, query: str, position: Position) -> None:
        """Notes where a query is, and says after a restart where it went on."""
        is_first = query not in self._now
        self._now[query] = position
        if not is_first or self._attempts.total == 0 or not position.is_known():
            return
        line = f"{query} goes on at {position.start_text()}"
        before = self._before.get(query)
        if before is not None and before.ends:
            count = position.repeated_since(before)
            line += f"; at most about {count:,} records are read again" if count else "; nothing is read again"
        say(line)

    def failed(self, cause: Cause) -> float:
        """Says what happened, and returns how many seconds to wait before the next start.

        Raises:
            GaveUpError: There must be no next start.
        """
        # One that takes minutes to fail, and never read, has not been healthy.
        ready_s = 0.0 if self._ready_since is None else time.monotonic() - self._ready_since
        try:
            wait = self._attempts.wait_after(self._what, cause, dt.timedelta(seconds=ready_s)).total_seconds()
        except GaveUpError:
            self._health.now(State.GIVEN_UP, cause)
            raise
        self._health.restarts = self._attempts.total
        self._health.now(State.WAITING, cause)
        say(f"{self._what} failed: {cause.text}")
        say(f"restart {self._attempts.total} in {wait:.1f} s, from the last commit")
        return wait

    def ends(self) -> None:
        """Notes that it was told to end."""
        self._health.now(State.ENDING)
