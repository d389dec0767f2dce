# SPDX-License-Identifier: Apache-2.0
"""What a workload is: which answers its query must give. No engine is mentioned here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from workloads.records import Load

Answer: TypeAlias = dict[str, Any]
"""One output record's value, read as JSON."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A stretch of records that were sent at fixed times."""

    first: int
    count: int
    start_s: float
    load: Load
    behind: int = 0
    """How many of them, the last ones, do not count."""

    def counts(self, number: int) -> bool:
        """Tells whether a record counts."""
        return number - self.first < self.count - self.behind

    def due_s(self, number: int) -> float:
        """Returns when a record was meant to be sent, in seconds since 1970."""
        return self.start_s + (number - self.first) / self.load.rate

    def ts_ms(self, number: int) -> int:
        """Returns the event time that a record carries: when it was meant to be sent."""
        return int(self.due_s(number) * 1000)


class WrongAnswerError(Exception):
    """An engine answered, and the answer is wrong."""


class Checker(Protocol):
    """Follows the answers of one engine to one workload, in the order in which they came."""

    def expects(self, number: int) -> bool:
        """Tells whether a record must be answered."""

    def answered(self, answer: Answer) -> Iterable[int]:
        """Returns the numbers of the records that an answer answers.

        Raises:
            WrongAnswerError: The answer is not what the workload demands.
        """


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """A query in words, and what its answers must look like."""

    name: str
    title: str
    """What the query does, in one line."""
    checker: Callable[[list[Sent]], Checker]
    """Makes the checker of one engine's answers; it sees the list of what was sent grow."""
    copies: bool = False
    """Whether every fifth record is sent as a copy of the one before it."""
    read_committed: bool = False
    """Whether the consumer sees committed transactions only, and no duplicate is forgiven."""
