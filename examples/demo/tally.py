# SPDX-License-Identifier: Apache-2.0
"""Counts what came back, and how long it took."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from receiver import Receipt

PERCENTILES = (50.0, 90.0, 99.0, 99.9)

_RECENT_US = 3_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Alerts:
    """How the alerts compare with the truth.

    Attributes:
        found: Planted cases with an alert on at least one of their transactions.
        planted: All planted cases.
        false: Alerts on honest transactions.
    """

    found: int
    planted: int
    false: int


def percentiles_ms(latencies_us: Iterable[int]) -> tuple[float, ...]:
    """Returns the latencies that 50, 90, 99 and 99.9 % do not exceed; nothing if there are no latencies."""
    ordered = sorted(latencies_us)
    if not ordered:
        return ()
    # The next one up where a rank falls between two: a percentile is never better than the true one.
    return tuple(ordered[min(len(ordered) - 1, int(len(ordered) * share / 100))] / 1000 for share in PERCENTILES)


class Tally:
    """What came back in one phase.

    Args:
        measured: The ids of the transactions that count; the others are warm-up.
        cases: The planted case that a transaction is part of, by the transaction's id.
    """

    def __init__(self, measured: Collection[str], cases: Mapping[str, str]) -> None:
        self._measured = frozenset(measured)
        self._cases = {name: case for name, case in cases.items() if name in self._measured}
        self._latencies_us: list[int] = []
        self._recent: deque[tuple[int, int]] = deque()
        self._seen: set[str] = set()
        self._found: set[str] = set()
        self._false_alerts = 0

    def add(self, receipts: Iterable[Receipt], *, now_us: int) -> None:
        """Counts scores that came back since the last call; one that comes twice counts once."""
        for receipt in receipts:
            if receipt.transaction in self._seen:
                continue
            self._seen.add(receipt.transaction)
            self._recent.append((now_us, receipt.latency_us))
            if receipt.transaction in self._measured:
                self._latencies_us.append(receipt.latency_us)
                if receipt.is_alert:
                    self._add_alert(receipt.transaction)
        while self._recent and self._recent[0][0] < now_us - _RECENT_US:
            self._recent.popleft()

    def forget_recent(self) -> None:
        """Starts a new span: what came before tells nothing about it."""
        self._recent.clear()

    @property
    def received(self) -> int:
        """How many transactions came back, warm-up included."""
        return len(self._seen)

    @property
    def measured(self) -> int:
        """How many of the transactions that count came back."""
        return len(self._latencies_us)

    @property
    def rate(self) -> float:
        """Scores per second over the last seconds."""
        return len(self._recent) / (_RECENT_US / 1e6)

    def percentiles_ms(self) -> tuple[float, ...]:
        """Returns the percentiles of what counts; as long as nothing does, those of the last seconds."""
        return percentiles_ms(self._latencies_us or [latency_us for _, latency_us in self._recent])

    def alerts(self) -> Alerts:
        """Compares the alerts that count with the truth."""
        planted = len(set(self._cases.values()))
        return Alerts(found=len(self._found), planted=planted, false=self._false_alerts)

    def _add_alert(self, transaction: str) -> None:
        case = self._cases.get(transaction)
        if case is None:
            self._false_alerts += 1
        else:
            self._found.add(case)
