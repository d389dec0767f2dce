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

_SPARK = ("hop", "headrace", "stock", "micro-batch", "flink")
_PYTHON = ("hop", "headrace", "pyflink-tuned", "quix")
# More engines at once would cost the measured one too much of two cores, idle as they are. Headrace is in each group.
# Those of the swept workloads are measured under the base case too.
BASE_GROUPS: dict[str, tuple[tuple[str, ...], ...]] = {
    "stateless": (("headrace", "continuous", "quix"),),
    "join": (_SPARK,),
    "count": (("headrace", "quix"),),
    "window": (_SPARK,),
    "dedup": (_SPARK,),
    "shuffles": (_SPARK,),
    "udf": (("headrace", "stock", "micro-batch", "pyflink", "pyflink-thread"),),
    "pandas": (("hop", "headrace", "micro-batch", "pyflink-tuned"),),
    "state": (_PYTHON, ("headrace", "micro-batch")),
    "exactly-once": (("hop", "headrace", "stock", "flink", "quix"),),
}
SWEPT: dict[str, tuple[str, ...]] = {"stateless": _SPARK, "count": _SPARK, "udf": _PYTHON}
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
    for workload, swept in SWEPT.items():
        yield replace(_round(base, workload, swept), name=f"{workload}-keys", loads=[Load(keys=100_000)])
        for checkpoint_ms in CHECKPOINTS_MS:
            without_hop = _round(base, workload, swept[1:])
            name = f"{workload}-every-{checkpoint_ms // 1000}s"
            yield replace(without_hop, name=name, checkpoint_ms=checkpoint_ms, recovery=True)
    yield replace(_round(base, "stateless", MICRO_BATCHES), name="micro-batches")


def _round(base: Round, workload: str, engines: tuple[str, ...]) -> Round:
    return replace(base, workload=WORKLOADS[workload], engines=[ENGINES[name]() for name in engines])
