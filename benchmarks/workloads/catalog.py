# SPDX-License-Identifier: Apache-2.0
"""Every workload, by name."""

from __future__ import annotations

from workloads.checkers import OneToOne, RunningTotal, ShuffledTally, Tally, WindowTally
from workloads.records import category, cents, merchant, told
from workloads.workload import Checker, Sent, Workload

SMALLEST_CENTS = 1000
"""Smaller payments are filtered out: one in ten."""
WINDOW_MS = 10_000


def score(amount: int) -> int:
    """The function of the Python workloads: cheap, and not one that an engine could run without Python."""
    return (amount * 37 + 11) % 1000


def _everything(_sent: list[Sent]) -> Checker:
    return OneToOne(lambda n: n >= 0, lambda _: {})


def _fees(_sent: list[Sent]) -> Checker:
    return OneToOne(lambda n: cents(n) > SMALLEST_CENTS, lambda n: {"fee": cents(n) * 3})


def _categories(_sent: list[Sent]) -> Checker:
    return OneToOne(lambda n: n >= 0, lambda n: {"category": category(merchant(n))})


def _originals(_sent: list[Sent]) -> Checker:
    return OneToOne(lambda n: told(n) == n, lambda _: {})


def _scores(_sent: list[Sent]) -> Checker:
    return OneToOne(lambda n: n >= 0, lambda n: {"score": score(cents(n))})


_ALL = (
    Workload(
        name="stateless",
        title="drop payments up to 1,000 cents, answer {id, fee: 3 * cents}",
        checker=_fees,
    ),
    Workload(
        name="join",
        title="join with a table of 10,000 merchants held by each task, answer {id, category}",
        checker=_categories,
    ),
    Workload(name="count", title="count by card, answer {card, n, last: highest id}", checker=Tally),
    Workload(
        name="window",
        title="count by card in 10 s windows of ts, answer {card, start (ms), n, last: highest id}",
        checker=WindowTally,
    ),
    Workload(
        name="dedup",
        title="drop records whose id was seen before (one in five), answer {id}",
        checker=_originals,
        copies=True,
    ),
    Workload(
        name="shuffles",
        title="send by merchant to another task, then count by card, answer {card, n, last}",
        checker=ShuffledTally,
    ),
    Workload(name="udf", title="call a Python function on cents, answer {id, score}", checker=_scores),
    Workload(name="pandas", title="call a pandas function on cents, answer {id, score}", checker=_scores),
    Workload(
        name="state",
        title="keep count and sum of cents by card in Python state, answer {id, n, total}",
        checker=RunningTotal,
    ),
    Workload(
        name="exactly-once",
        title="as stateless, in transactions, to a read_committed consumer",
        checker=_fees,
        read_committed=True,
    ),
)
ECHO = Workload(name="echo", title="answer each record with itself", checker=_everything)
"""What the broker alone answers."""
WORKLOADS = {workload.name: workload for workload in _ALL}
