# SPDX-License-Identifier: Apache-2.0
"""Card transactions, decided in advance: who pays what, where and when, and which of it is fraud.

Each transaction carries what a card network knows when it asks for a score: the card's usual amount, where and how long
ago it was used last, and how often in the last minute. That is enough to see the three planted patterns without state:

* impossible travel: the card is used further away than anyone can have flown since it was used last;
* card testing: a burst of tiny payments at online merchants, to see whether a stolen number still works;
* unusual at night: many times the usual amount, in a risky kind of shop, while the shop's city sleeps.
"""

from __future__ import annotations

import csv
import itertools
import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

Fields = dict[str, object]
"""The JSON fields of a transaction, without its id and its time."""

MERCHANTS = Path(__file__).with_name("merchants.csv")

_CARDS = 5_000
_CASES_PER_SECOND = 3
_BURST = range(6, 13)
_BURST_GAP_SECONDS = 0.15
_LONGEST_BURST_SECONDS = _BURST.stop * _BURST_GAP_SECONDS
_NIGHT = range(1, 5)
_RISKY = 0.5
_ONLINE_SHARE = 0.15
_AWAY_SHARE = 0.03
_CRUISE_KMH = 700


@dataclass(frozen=True, kw_only=True, slots=True)
class Merchant:
    """A line of the merchant table; one without a city sells online only."""

    number: int
    city: str
    latitude: float
    longitude: float
    utc_offset: float
    online: bool
    risk: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Card:
    """A card, the city where its owner lives, and what its owner usually pays."""

    number: str
    home: str
    usual_amount: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Transaction:
    """One payment.

    Attributes:
        id: Its number in the plan, as text.
        due: When it is to be sent, from the start of the plan.
        key: The Kafka key, its card.
        body: The JSON fields, without braces and without the time of sending.
    """

    id: str
    due: timedelta
    key: str
    body: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Everything that will be sent, in order, and the truth about it.

    Attributes:
        transactions: In the order of their times.
        cases: The planted case that a transaction is part of, by the transaction's id; the others are honest.
    """

    transactions: list[Transaction] = field(default_factory=list)
    cases: dict[str, str] = field(default_factory=dict)


def read_merchants(path: Path = MERCHANTS) -> list[Merchant]:
    """Reads the merchant table."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Merchant(
                number=int(row["merchant"]),
                city=row["city"],
                latitude=float(row["latitude"] or 0),
                longitude=float(row["longitude"] or 0),
                utc_offset=float(row["utc_offset"] or 0),
                online=row["online"] == "true",
                risk=float(row["risk"]),
            )
            for row in csv.DictReader(file)
        ]


def make_plan(*, rate: int, length: timedelta, now: datetime | None = None, seed: int = 1) -> Plan:
    """Decides a stretch of transactions; the same arguments give the same plan.

    Args:
        rate: Transactions per second, on average; the gaps between them are as irregular as real customers are.
        length: How long the stretch is.
        now: The moment that decides where it is night.
        seed: Another seed, another stretch.
    """
    return _Planner(now or datetime.now(UTC), random.Random(seed)).plan(rate, length.total_seconds())  # noqa: S311


class _Planner:
    def __init__(self, now: datetime, chance: random.Random) -> None:
        self._chance = chance
        merchants = read_merchants()
        self._online = [merchant for merchant in merchants if merchant.online]
        self._cities: dict[str, list[Merchant]] = {}
        for merchant in merchants:
            if not merchant.online:
                self._cities.setdefault(merchant.city, []).append(merchant)
        self._hours = {city: (now + timedelta(hours=shops[0].utc_offset)).hour for city, shops in self._cities.items()}
        self._asleep = [city for city, hour in self._hours.items() if hour in _NIGHT]
        # Few people pay while their city sleeps.
        weights = [1 if city in self._asleep else 8 for city in self._cities]
        homes = chance.choices(list(self._cities), weights, k=_CARDS)
        self._cards = [
            Card(number=f"4000-{n:08d}", home=home, usual_amount=round(chance.lognormvariate(3.2, 0.6), 2))
            for n, home in enumerate(homes)
        ]
        self._case_numbers = itertools.count(1)

    def plan(self, rate: int, seconds: float) -> Plan:
        plan = Plan()
        count = round(rate * seconds)
        # Customers do not wait for each other: the times of a Poisson process, given how many there are.
        dues = sorted(self._chance.uniform(0, seconds) for _ in range(count))
        reserved: dict[int, tuple[str, Fields]] = {}
        for n, due in enumerate(dues):
            is_too_late = due > seconds - _LONGEST_BURST_SECONDS
            if n not in reserved and not is_too_late and self._chance.random() < _CASES_PER_SECOND / rate:
                reserved.update(self._start_case(n, rate, reserved.keys()))
            case, fields = reserved.pop(n, (None, {}))
            if case is None:
                fields = self._honest()
            else:
                plan.cases[str(n)] = case
            body = json.dumps({"id": str(n), **fields}, separators=(",", ":"))[1:-1]
            plan.transactions.append(
                Transaction(id=str(n), due=timedelta(seconds=due), key=str(fields["card"]), body=body)
            )
        return plan

    def _start_case(self, first: int, rate: int, reserved: Collection[int]) -> dict[int, tuple[str, Fields]]:
        """Decides the transactions of a new case, by their place in the plan."""
        kind = self._chance.choice((self._impossible_travel, self._card_testing, self._unusual_at_night))
        case = f"{kind.__name__.strip('_')} {next(self._case_numbers)}"
        gap = max(1, round(_BURST_GAP_SECONDS * rate))
        slots = (slot for slot in itertools.count(first, gap) if slot not in reserved)
        return {slot: (case, fields) for slot, fields in zip(slots, kind(), strict=False)}

    def _honest(self) -> Fields:
        card = self._chance.choice(self._cards)
        if self._chance.random() < _ONLINE_SHARE:
            return self._payment(card, self._chance.choice(self._online), last=(card.home, self._hours_ago()))
        away = self._chance.random() < _AWAY_SHARE
        city = self._chance.choice(list(self._cities)) if away else card.home
        # A journey takes its time: even between antipodes, 20,000 km apart, this long is long enough.
        hours_ago = self._hours_ago() + (20_000 / _CRUISE_KMH if away else 0)
        return self._payment(card, self._chance.choice(self._cities[city]), last=(card.home, hours_ago))

    def _impossible_travel(self) -> list[Fields]:
        card = self._chance.choice(self._cards)
        city = self._chance.choice([city for city in self._cities if city != card.home])
        shop = self._chance.choice(self._cities[city])
        return [self._payment(card, shop, last=(card.home, self._chance.uniform(0.02, 0.5)))]

    def _card_testing(self) -> list[Fields]:
        card = self._chance.choice(self._cards)
        tests: list[Fields] = []
        for already in range(self._chance.choice(_BURST)):
            shop, amount = self._chance.choice(self._online), self._chance.uniform(0.5, 2.5)
            test = self._payment(card, shop, last=(card.home, self._hours_ago()), amount=amount)
            tests.append({**test, "last_minute": already})
        return tests

    def _unusual_at_night(self) -> list[Fields]:
        city = self._chance.choice(self._asleep)
        card = self._chance.choice(self._cards)
        shop = self._chance.choice([shop for shop in self._cities[city] if shop.risk >= _RISKY])
        amount = card.usual_amount * self._chance.uniform(9, 40)
        return [self._payment(card, shop, last=(city, self._hours_ago()), amount=amount)]

    def _payment(
        self, card: Card, merchant: Merchant, *, last: tuple[str, float], amount: float | None = None
    ) -> Fields:
        city, hours_ago = last
        before = self._cities[city][0]
        return {
            "card": card.number,
            "merchant": merchant.number,
            "amount": round(amount or card.usual_amount * self._chance.lognormvariate(0, 0.7), 2),
            "usual_amount": card.usual_amount,
            "local_hour": self._hours[merchant.city or card.home],
            "last_minute": 0,
            "previous": {
                "latitude": round(before.latitude + self._chance.uniform(-0.1, 0.1), 4),
                "longitude": round(before.longitude + self._chance.uniform(-0.1, 0.1), 4),
                "hours_ago": round(hours_ago, 3),
            },
        }

    def _hours_ago(self) -> float:
        return 0.1 + self._chance.expovariate(1 / 20)
