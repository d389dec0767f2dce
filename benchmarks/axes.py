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
BASE_GROUPS: dict[str, tuple[tuple[str, ...], ...]] = {
    "stateless": (_SPARK, ("headrace", "continuous", "quix")),
    "join": (_SPARK,),
    "count": (_SPARK, ("headrace", "quix")),
    "window": (_SPARK,),
    "dedup": (_SPARK,),
    "shuffles": (_SPARK,),
    "udf": (_PYTHON, ("headrace", "stock", "micro-batch", "pyflink", "pyflink-thread")),
    "pandas": (("hop", "headrace", "micro-batch", "pyflink-tuned"),),
    "state": (_PYTHON, ("headrace", "micro-batch")),
    "exactly-once": (("hop", "headrace", "stock", "flink", "quix"),),
}
SWEPT: dict[str, tuple[str, ...]] = {"stateless": _SPARK, "count": _SPARK, "udf": _PYTHON}
RATES = (100, 1000, 5000, 10_000)
CHECKPOINTS_MS = (1000, 60_000)
MICRO_BATCHES = ("headrace", "micro-batch", "micro-batch-100", "micro-batch-500", "micro-batch-1000")


def all_rounds(base: Round) -> Iterator[Round]:
    """Returns the rounds of the committed table, given one that says how long windows are."""
    for workload, groups in BASE_GROUPS.items():
        for group in groups:
            yield _round(base, workload, group)
    for workload, swept in SWEPT.items():
        rates = [Load(rate=rate) for rate in RATES]
        yield replace(_round(base, workload, swept), loads=rates, highest=True)
        yield replace(_round(base, workload, swept), loads=[Load(size=1000)])
        yield replace(_round(base, workload, swept), loads=[Load(keys=100_000)])
        for checkpoint_ms in (*CHECKPOINTS_MS, base.checkpoint_ms):
            yield replace(_round(base, workload, swept[1:]), checkpoint_ms=checkpoint_ms, recovery=True)
    yield _round(base, "stateless", MICRO_BATCHES)


def _round(base: Round, workload: str, engines: tuple[str, ...]) -> Round:
    return replace(base, workload=WORKLOADS[workload], engines=[ENGINES[name]() for name in engines])
