# SPDX-License-Identifier: Apache-2.0
"""The input of the tests of modes: orders paid with cards."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from headrace.local import Record

PARTITIONS = 2
SCHEMA = "id long, card string, amount long, tags array<string>, at timestamp"
"""How from_json reads an order."""
START = 1_767_225_600  # 2026-01-01, UTC


@dataclass(frozen=True, slots=True)
class Order:
    """What the input consists of. Orders of one card are in one partition."""

    id: int
    card: str
    amount: int
    tags: tuple[str, ...]
    at: int

    @property
    def partition(self) -> int:
        """The partition it is written to."""
        return int(self.card.removeprefix("card-")) % PARTITIONS

    def as_json(self) -> str:
        """The order as the value of a record."""
        return json.dumps(asdict(self))

    def as_record(self) -> Record:
        """The order as a record of Kafka's."""
        return Record(key=self.card.encode(), value=self.as_json().encode(), partition=self.partition)


def orders(first: int, count: int) -> list[Order]:
    """Makes orders of seven cards, one a second."""
    return [
        Order(id=n, card=f"card-{n % 7}", amount=n * 10, tags=tuple("abc"[: n % 4]), at=START + n)
        for n in range(first, first + count)
    ]
