# SPDX-License-Identifier: Apache-2.0
"""What became of the records, held against what was promised."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from tests.failure.soak.traffic import PARTITIONS


class Watched(Protocol):
    """What came out, in order, and when each number came out first."""

    numbers: list[int]
    seen: dict[int, float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Harmed:
    """One harm and what followed.

    Attributes:
        name: What was done.
        sent: How many records had been sent.
        recorded: The next offset of each partition that was recorded then.
        recovery_s: Until a record that was sent afterwards came out.
    """

    name: str
    sent: int
    recorded: tuple[int, ...]
    recovery_s: float


@dataclass(kw_only=True, slots=True)
class Verdict:
    """On one mode of delivery.

    Attributes:
        mode: Its name.
        records: How many were sent.
        lost: How many never came out although they were recorded as done.
        unread: How many never came out because the application ended before it had read them.
        repeated: How many results came out again.
        disorder: How often a result came behind a later one of its partition without a harm that explains it.
        unexplained: How many repetitions were of records that had been recorded before the harm.
        oldest_repeated_s: How long before the harm the oldest result that was repeated had come out.
        harms: What was done.
    """

    mode: str
    records: int
    lost: int
    unread: int
    repeated: int
    disorder: int
    unexplained: int
    oldest_repeated_s: float
    harms: list[Harmed] = field(default_factory=list)

    def is_kept(self, *, exactly_once: bool) -> bool:
        """Whether the promise was."""
        bad = self.lost + self.unread + self.disorder + self.unexplained
        return bad == 0 and not (exactly_once and self.repeated)


def judge(mode: str, came: Watched, sent: int, harms: list[tuple[Harmed, float]], recorded: tuple[int, ...]) -> Verdict:
    """Looks at everything that came out.

    Args:
        mode: The mode's name.
        came: What came out.
        sent: How many were sent.
        harms: What was done, and when.
        recorded: The next offset of each partition that was recorded at the end.

    Returns:
        The verdict.
    """
    counts = Counter(came.numbers)
    missing = [number for number in range(sent) if number not in counts]
    unread = [number for number in missing if not _is_recorded(recorded, number)]
    again = [number for number, count in counts.items() if count > 1]
    oldest = 0.0
    unexplained = 0
    for number in again:
        causes = [(harm, at) for harm, at in harms if number < harm.sent and not _is_recorded(harm.recorded, number)]
        unexplained += not causes
        oldest = max([oldest, *(at - came.seen[number] for _, at in causes[:1])])
    return Verdict(
        mode=mode,
        records=sent,
        lost=len(missing) - len(unread),
        unread=len(unread),
        repeated=len(came.numbers) - len(counts),
        disorder=_disorder(came.numbers, len(harms) if again else 0),
        unexplained=unexplained,
        oldest_repeated_s=round(oldest, 3),
        harms=[harm for harm, _ in harms],
    )


def _is_recorded(recorded: tuple[int, ...], number: int) -> bool:
    return number // PARTITIONS < recorded[number % PARTITIONS]


def _disorder(numbers: list[int], allowed: int) -> int:
    """Steps backwards within a partition, beyond the number that harms explain."""
    steps = 0
    last = [-1] * PARTITIONS
    for number in numbers:
        partition = number % PARTITIONS
        steps += number < last[partition]
        last[partition] = number
    return max(0, steps - allowed * PARTITIONS)
