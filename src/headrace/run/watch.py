# SPDX-License-Identifier: Apache-2.0
"""Looks at the queries of a supervised application from inside, and tells its supervisor."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.engine import gateway
from headrace.run.causes import Cause, cause_of, cause_of_exit
from headrace.run.positions import position_of
from headrace.run.reports import Failed, Reads, Ready
from headrace.run.saying import say

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

    from headrace.run.positions import Position
    from headrace.run.reports import Line

_LOOK_EVERY_S = 0.25
_PATIENCE_S = 10
"""So long a script may take to notice a failure: to end, or to start the query again itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Failure:
    cause: Cause
    query: str | None
    seen: float


class Watch:
    """A thread that looks at the queries until the process ends.

    A script that does not notice a failure, because it waits for another query or for none, is ended in good order, so
    that its supervisor can start it again. So is one whose supervisor is gone.
    """

    def __init__(self, line: Line) -> None:
        self._line = line
        self._running: dict[str, StreamingQuery] = {}
        self._positions: dict[str, Position] = {}
        self._failure: _Failure | None = None
        self._is_ready: bool | None = None

    def start(self) -> None:
        """Begins to look."""
        threading.Thread(target=self._look_on, name="headrace-watch", daemon=True).start()

    def _look_on(self) -> None:
        while not self._is_over():
            # A context that is just being stopped answers with errors, and so does a JVM that is just ending: the next
            # look will tell.
            with contextlib.suppress(Exception):
                self._look()
            time.sleep(_LOOK_EVERY_S)
        os.kill(os.getpid(), signal.SIGTERM)

    def _is_over(self) -> bool:
        if self._line.is_cut():
            say("the supervisor is gone; ending")
            return True
        failure = self._failure
        if failure is None or time.monotonic() < failure.seen + _PATIENCE_S:
            return False
        self._line.tell(Failed(cause=failure.cause))
        return True

    def _look(self) -> None:
        code = gateway.jvm_exit_code()
        if code is not None:
            self._note(_Failure(cause=cause_of_exit(code, "Spark's JVM"), query=None, seen=time.monotonic()))
        active = {str(query.runId): query for query in gateway.active_queries()}
        for run in self._running.keys() - active.keys():
            self._look_back(self._running.pop(run))
        self._running |= active
        reading = 0
        for run, query in active.items():
            position = position_of(query)
            if position is not None:
                reading += 1
                self._tell_position(run, query, position)
        if self._failure is not None and self._failure.query in {str(query.id) for query in active.values()}:
            # The script has started it again.
            self._failure = None
        self._tell_ready(is_ready=0 < reading == len(active) and self._failure is None)

    def _look_back(self, query: StreamingQuery) -> None:
        error = query.exception()
        if error is not None:
            self._note(_Failure(cause=cause_of(error), query=str(query.id), seen=time.monotonic()))

    def _note(self, failure: _Failure) -> None:
        self._failure = self._failure or failure

    def _tell_position(self, run: str, query: StreamingQuery, position: Position) -> None:
        if self._positions.get(run) != position:
            self._positions[run] = position
            self._line.tell(Reads(query=query.name or str(query.id), position=position))

    def _tell_ready(self, *, is_ready: bool) -> None:
        if is_ready is not self._is_ready:
            self._is_ready = is_ready
            self._line.tell(Ready(is_ready=is_ready))
