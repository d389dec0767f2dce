# SPDX-License-Identifier: Apache-2.0
"""`headrace bench --all`: not every combination, but one axis at a time around the base case."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engines.roster import ENGINES
from workloads.catalog import WORKLOADS
from workloads.records import Load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.round import Round

_SPARK = ("headrace", "stock", "micro-batch", "flink")
_PYTHON = ("headrace", "pyflink-tuned", "quix")
# More engines at once would cost the measured one too much of two cores, idle as they are. Headrace is in each group.
# Those of the swept workloads are measured under the base case too.
BASE_GROUPS: dict[str, tuple[tuple[str, ...], ...]] = {
    "stateless": (("script", "script-java", "headrace", "continuous", "quix"),),
    "join": (("hop", *_SPARK),),
    "count": (("headrace", "quix"),),
    "window": (("hop", *_SPARK),),
    "dedup": (("hop", *_SPARK),),
    "shuffles": (("hop", *_SPARK),),
    "udf": (("script", "headrace", "stock", "micro-batch", "pyflink", "pyflink-thread"),),
    "pandas": (("hop", "headrace", "micro-batch", "pyflink-tuned"),),
    "state": (("hop", *_PYTHON), ("headrace", "micro-batch")),
    "exactly-once": (("hop", "headrace", "stock", "flink", "quix"),),
}
# The plain hop is the same beside each of them.
SWEPT: dict[str, tuple[str, ...]] = {"stateless": ("hop", *_SPARK), "count": _SPARK, "udf": _PYTHON}
# When progress becomes durable is no matter of the function in a query, and micro-batches do it with each batch.
COMMITTED = ("stateless", "count")
COMMITTING = ("headrace", "stock", "flink")
# How many keys there are concerns only a query that keeps something for each.
KEYED = "count"
# The base case first: the search for the highest rate and kill -9 begin with it. What may be too much for an engine,
# and put it out of the round, comes last.
LOADS = (Load(), Load(rate=100), Load(size=1000), Load(rate=5000), Load(rate=10_000))
CHECKPOINTS_MS = (1000, 60_000)
MICRO_BATCHES = ("headrace", "micro-batch", "micro-batch-100", "micro-batch-500", "micro-batch-1000")


def all_rounds(base: Round) -> Iterator[Round]:
    """Returns the rounds of the committed table, each with its name, given one that says how long windows are."""
    for workload, swept in SWEPT.items():
        whole = _round(base, workload, swept)
        yield replace(whole, name=f"{workload}-rates", loads=list(LOADS), highest=True, recovery=True)
    for workload, groups in BASE_GROUPS.items():
        for number, group in enumerate(groups, 1):
            yield replace(_round(base, workload, group), name=f"{workload}-{number}")
    yield replace(_round(base, KEYED, SWEPT[KEYED]), name=f"{KEYED}-keys", loads=[Load(keys=100_000)])
    for workload in COMMITTED:
        for checkpoint_ms in CHECKPOINTS_MS:
            name = f"{workload}-every-{checkpoint_ms // 1000}s"
            plain = _round(base, workload, COMMITTING)
            yield replace(plain, name=name, checkpoint_ms=checkpoint_ms, recovery=True)
    yield replace(_round(base, "stateless", MICRO_BATCHES), name="micro-batches")


def _round(base: Round, workload: str, engines: tuple[str, ...]) -> Round:
    return replace(base, workload=WORKLOADS[workload], engines=[ENGINES[name]() for name in engines])
