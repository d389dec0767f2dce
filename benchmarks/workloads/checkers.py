# SPDX-License-Identifier: Apache-2.0
"""The ways in which answers are checked."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING

from workloads import records
from workloads.workload import Answer, Sent, WrongAnswerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class OneToOne:
    """Each record that passes a test is answered by one record with its id and computed fields."""

    def __init__(self, passes: Callable[[int], bool], fields: Callable[[int], dict[str, int]]) -> None:
        """Takes the test, and what an answer must hold beside the id, both as functions of a record's number."""
        self._passes = passes
        self._fields = fields

    def expects(self, number: int) -> bool:
        """See Checker."""
        return self._passes(number)

    def answered(self, answer: Answer) -> Iterable[int]:
        """See Checker."""
        number = int(answer["id"])
        fields = self._fields(number)
        if not self._passes(number) or any(int(answer[name]) != field for name, field in fields.items()):
            message = f"{answer} answers record {number}, expected {fields if self._passes(number) else 'no answer'}"
            raise WrongAnswerError(message)
        return (number,)


class Tally:
    """Each answer counts a card's records up to the newest one it knows; it answers all of them at once.

    So an engine that answers each record and one that answers once per batch are measured by the same rule: a record
    is answered when a count that includes it is visible.
    """

    def __init__(self, sent: list[Sent]) -> None:
        """Takes the growing list of what was sent."""
        self._sent = sent
        self._newest: dict[int, int] = {}

    def expects(self, number: int) -> bool:
        """See Checker."""
        return number >= 0

    def answered(self, answer: Answer) -> Iterable[int]:
        """See Checker."""
        card, last, keys = int(answer["card"]), int(answer["last"]), self._sent[0].load.keys
        first = self.first(answer)
        counted = len(range(first + (card - first) % keys, last + 1, keys))
        if self.is_partial(int(answer["n"]), counted):
            return ()
        if int(answer["n"]) != counted or records.card(last, keys) != card:
            message = f"{answer} answers record {last}, expected n={counted} for card {records.card(last, keys)}"
            raise WrongAnswerError(message)
        newest = self._newest.get(card, card - keys)
        self._newest[card] = max(newest, last)
        # A count that is not above the newest was seen before: a duplicate of its last record.
        return range(newest + keys, last + 1, keys) if last > newest else (last,)

    def first(self, _answer: Answer) -> int:
        """Returns the number of the first record that an answer may count."""
        return 0

    def is_partial(self, _found: int, _counted: int) -> bool:
        """Tells whether a count may leave out a record older than the newest that it knows, and so answers nothing."""
        return False


class ShuffledTally(Tally):
    """A Tally behind a shuffle by something else than the card, in which records of a card overtake each other."""

    def is_partial(self, found: int, counted: int) -> bool:
        """See Tally."""
        return found < counted


class WindowTally(Tally):
    """A Tally that begins anew with each window of event time."""

    def __init__(self, sent: list[Sent]) -> None:
        """Takes the growing list of what was sent."""
        super().__init__(sent)
        self._firsts: dict[int, int] = {}

    def first(self, answer: Answer) -> int:
        """See Tally."""
        start_ms = int(answer["start"])
        if start_ms not in self._firsts:
            stretch = next(one for one in self._sent if one.ts_ms(one.first + one.count - 1) >= start_ms)
            numbers = range(stretch.first, stretch.first + stretch.count)
            self._firsts[start_ms] = numbers[bisect_left(numbers, start_ms, key=stretch.ts_ms)]
        return self._firsts[start_ms]


class RunningTotal:
    """Each record is answered by one record with the count and the sum of its card so far."""

    def __init__(self, sent: list[Sent]) -> None:
        """Takes the growing list of what was sent."""
        self._sent = sent
        self._totals: dict[int, int] = defaultdict(int)
        self._newest: dict[int, int] = {}

    def expects(self, number: int) -> bool:
        """See Checker."""
        return number >= 0

    def answered(self, answer: Answer) -> Iterable[int]:
        """See Checker."""
        number, keys = int(answer["id"]), self._sent[0].load.keys
        card = records.card(number, keys)
        newest = self._newest.get(card, card - keys)
        if number > newest:
            if number != newest + keys:
                message = f"{answer} answers record {number} of card {card} before record {newest + keys}"
                raise WrongAnswerError(message)
            self._newest[card] = number
            self._totals[card] += records.cents(number)
            if (int(answer["n"]), int(answer["total"])) != (number // keys + 1, self._totals[card]):
                message = f"{answer}: expected n={number // keys + 1}, total={self._totals[card]}"
                raise WrongAnswerError(message)
        return (number,)
