# SPDX-License-Identifier: Apache-2.0
"""The input of every workload: card payments, each a pure function of its number.

What a record holds can be computed from its number alone, so the checker needs no copy of what was sent.
"""

from __future__ import annotations

from dataclasses import dataclass

MERCHANTS = 10_000
# Every fifth record of the dedup workload is sent as a copy of the one before it.
COPY_EVERY = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """What is sent, and how fast."""

    rate: int = 1000
    """Records per second."""
    size: int = 100
    """Bytes of a record's value."""
    keys: int = 1000
    """Cards that take turns: record number n belongs to card n modulo keys."""


def told(number: int) -> int:
    """Returns the id that a record of the dedup workload carries."""
    return number - 1 if number % COPY_EVERY == COPY_EVERY - 1 else number


def card(number: int, keys: int) -> int:
    """Returns the key of a record."""
    return number % keys


def cents(number: int) -> int:
    """Returns a payment's amount, between 1 and 10,000."""
    return number * 7919 % 10_000 + 1


def merchant(number: int) -> int:
    """Returns who was paid, one of MERCHANTS."""
    return number * 104_729 % MERCHANTS


def category(shop: int) -> int:
    """Returns what the table of merchants says of one of them; engines load that table, they do not compute it."""
    return shop * 31 % 97


def value(number: int, ts_ms: int, load: Load) -> bytes:
    """Returns a record's value: JSON, padded to the size of the load."""
    head = b'{"id":%d,"card":%d,"merchant":%d,"cents":%d,"ts":%d,"pad":"' % (
        number,
        card(number, load.keys),
        merchant(number),
        cents(number),
        ts_ms,
    )
    return head + b"x" * (load.size - len(head) - 2) + b'"}'
