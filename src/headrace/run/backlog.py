# SPDX-License-Identifier: Apache-2.0
"""How far a query that catches up has got, as lines on stderr."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from headrace.run.positions import parse_offsets
from headrace.run.saying import say

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery
    from pyspark.sql.streaming.listener import StreamingQueryProgress

_SAY_EVERY_S = 2


class Backlog:
    """What was there to read, and what of it is done."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._said = self._began
        self._done = 0
        self._left = 0
        self._batch = -1
        self._name = ""

    def look(self, query: StreamingQuery) -> None:
        """Takes the newest progress of a query, and says it now and then."""
        recent = [progress for progress in query.recentProgress if progress.batchId > self._batch]
        if not recent:
            return
        self._name = query.name or str(query.id)
        self._batch = recent[-1].batchId
        self._done += sum(progress.numInputRows for progress in recent)
        self._left = _left(recent[-1])
        if self._done and (sys.stderr.isatty() or time.monotonic() - self._said >= _SAY_EVERY_S):
            self._said = time.monotonic()
            self._say_progress()

    def say_end(self) -> None:
        """Says what was done, if there was something to do."""
        if self._done:
            seconds = time.monotonic() - self._began
            say(f"{self._name} has caught up: {self._done:,} records in {seconds:.1f} s; going on in real time")

    def _say_progress(self) -> None:
        total = self._done + self._left
        rate = self._done / (time.monotonic() - self._began)
        say(
            f"{self._name} catches up: {self._done:,} of {total:,} records ({self._done / total:.0%}), "
            f"{rate:,.0f} a second, {self._left / rate:,.0f} s left"
        )


def _left(progress: StreamingQueryProgress) -> int:
    left = 0
    for source in progress.sources:
        done, ends = parse_offsets(source.endOffset), parse_offsets(source.latestOffset)
        left += sum(max(0, end - done.get(partition, end)) for partition, end in ends.items())
    return left
