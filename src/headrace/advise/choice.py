# SPDX-License-Identifier: Apache-2.0
"""Says whether real-time mode is the right choice for a query at all."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from headrace.advise.measured import MICRO_BATCH, MICRO_BATCH_STATE, REAL_TIME, REAL_TIME_STATE, Measured
from headrace.advise.wording import Advice, word

if TYPE_CHECKING:
    from headrace.advise.query import CheckedQuery

BULK = frozenset({"SINK_FILE", "SINK_UNKNOWN", "FOREACH_BATCH"})
"""Sinks that take a batch at a time: tables, files, and what is made of whole batches."""


def choose(query: CheckedQuery, budget: timedelta | None) -> Advice:
    """Returns the advice on the mode.

    Args:
        query: The query.
        budget: How old a result may be when it is read. A plan cannot tell.
    """
    micro, real = (MICRO_BATCH_STATE, REAL_TIME_STATE) if query.state else (MICRO_BATCH, REAL_TIME)
    measured = (
        f"Measured at 1,000 records a second on two processors: micro-batch {_cost(micro)}; real-time {_cost(real)}."
    )
    if BULK & set(query.conditions):
        why = "Its sink takes whole batches, as tables and files do."
        return word("STAY_IN_MICRO_BATCH", why=why, measured=measured)
    if budget is None:
        return word("STATE_A_BUDGET", measured=measured)
    said = f"{budget / timedelta(milliseconds=1):g} ms"
    if _meets(micro.p99_ms, budget):
        why = f"It met {said} in our measurements, and between batches its slots are free for others."
        return word("STAY_IN_MICRO_BATCH", why=why, measured=measured)
    if _meets(real.p99_ms, budget):
        why = f"In our measurements real-time mode met {said}, and micro-batch mode missed it."
        return word("USE_REAL_TIME", why=why, measured=measured)
    if _meets(real.p50_ms, budget):
        why = (
            f"In our measurements real-time mode met {said} for most records, but not for one in a hundred; longer "
            "epochs make those fewer."
        )
        return word("USE_REAL_TIME", why=why, measured=measured)
    return word("BUDGET_TOO_TIGHT", budget=said, measured=measured)


def _meets(latency_ms: float, budget: timedelta) -> bool:
    return timedelta(milliseconds=latency_ms) <= budget


def _cost(measured: Measured) -> str:
    return (
        f"p50 {measured.p50_ms:g} ms, p99 {measured.p99_ms:g} ms, {measured.cpu_s_per_million:g} processor seconds per "
        f"million ({measured.result})"
    )
