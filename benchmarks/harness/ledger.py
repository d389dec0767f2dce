# SPDX-License-Identifier: Apache-2.0
"""What was sent to an engine, what it answered, and how long that took."""

from __future__ import annotations

import json
import time
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.histogram import Histogram
from workloads.workload import Sent, WrongAnswerError

if TYPE_CHECKING:
    from harness.receiver import Stamped
    from workloads.records import Load
    from workloads.workload import Workload

STEP_S = 0.1
"""Width of a step in the series of highest latencies."""
# Time for the order to reach the generator before its first record is due.
HEAD_START_S = 0.1


@dataclass(frozen=True, slots=True)
class Measured:
    """One window: every expected record answered, once or more."""

    sent: Sent
    histogram: Histogram
    series: list[tuple[float, float]]
    """Seconds since the window's start, and the highest latency in ms of records due in the step that begins there."""
    records: int
    duplicates: int
    behind: int
    """Answers to records that do not count."""


class Ledger:
    """Follows one engine's answers to one workload through all its windows."""

    def __init__(self, workload: Workload) -> None:
        """Opens an empty ledger."""
        self._sent: list[Sent] = []
        self._checker = workload.checker(self._sent)
        self._seen = bytearray()
        self._forget()

    def _forget(self) -> None:
        self._latencies_ms: list[float] = []
        self._highest: dict[int, float] = {}
        self._missing = 0
        self._duplicates = 0
        self._behind = 0
        self.receipts: list[tuple[float, float]] = []  # Due and received, of each record's first answer.

    def open(self, load: Load, seconds: float, behind_s: float = 0.0) -> Sent:
        """Begins a window; its records are due from a moment after now, and for a while behind its end some more."""
        first = len(self._seen)
        behind = int(load.rate * behind_s)
        window = Sent(first, int(load.rate * seconds) + behind, time.time() + HEAD_START_S, load, behind)
        self._sent.append(window)
        self._seen.extend(bytes(window.count))
        self._forget()
        self._missing = sum(1 for number in range(first, first + window.count) if self._checker.expects(number))
        return window

    @property
    def missing(self) -> int:
        """Records of the window that must be answered and are not."""
        return self._missing

    def take(self, stamped: list[Stamped]) -> None:
        """Enters what was received.

        Raises:
            WrongAnswerError: An answer is wrong.
        """
        for received_s, value in stamped:
            try:
                answered = self._checker.answered(json.loads(value))
            except (ValueError, KeyError, TypeError, StopIteration) as cause:
                message = f"not an answer to this workload: {value[:200]!r}"
                raise WrongAnswerError(message) from cause
            for number in answered:
                self._enter(number, received_s)

    def _enter(self, number: int, received_s: float) -> None:
        if self._seen[number]:
            self._duplicates += 1
            return
        self._seen[number] = 1
        self._missing -= 1
        window = self._sent[bisect_right(self._sent, number, key=lambda sent: sent.first) - 1]
        if not window.counts(number):
            self._behind += 1
            return
        due_s = window.due_s(number)
        latency_ms = (received_s - due_s) * 1000
        self._latencies_ms.append(latency_ms)
        self.receipts.append((due_s, received_s))
        step = int((due_s - window.start_s) / STEP_S)
        self._highest[step] = max(self._highest.get(step, 0.0), latency_ms)

    def close(self) -> Measured:
        """Ends the window."""
        series = [(round(step * STEP_S, 3), round(highest, 2)) for step, highest in sorted(self._highest.items())]
        histogram, records = Histogram.of_ms(self._latencies_ms), len(self._latencies_ms)
        return Measured(self._sent[-1], histogram, series, records, self._duplicates, self._behind)
