# SPDX-License-Identifier: Apache-2.0
"""The highest rate that an engine sustains: its p99 stays bounded for a minute."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TYPE_CHECKING, Any

from harness.contestant import MOST_LATENESS_P99_MS
from harness.stage import DroppedError

if TYPE_CHECKING:
    from harness.contestant import Contestant
    from harness.stage import Stage
    from workloads.records import Load

BOUND_MS = 1000.0
STEP = 1.5
STEP_S = 10.0
CONFIRM_S = 60.0
# A machine that is busy for a moment makes the generator late as well.
TRIES = 3
# How much lower the next try is when a rate was not held for a minute.
BACK = 0.8
PATIENCE_S = 180.0


def highest(stage: Stage, contestant: Contestant, load: Load) -> dict[str, Any]:
    """Raises the rate step by step until p99 leaves its bound, then goes back to a rate that holds for a minute.

    Raises:
        DroppedError: The engine died or lost records.
    """
    rate = _held(contestant, load)
    while not (limit := _limit(stage, contestant, replace(load, rate=rate))):
        rate = int(rate * STEP)
    while True:
        rate = max(load.rate, int(rate * BACK))
        window = stage.window(contestant, replace(load, rate=rate), CONFIRM_S, PATIENCE_S, keep=False)
        if window["p99"] <= BOUND_MS:
            return {"rate": rate, "limit": limit, "bound_ms": BOUND_MS, "p50": window["p50"], "p99": window["p99"]}
        if rate == load.rate:
            message = f"p99 is above {BOUND_MS:.0f} ms at {load.rate} records per second already"
            raise DroppedError(message)


def _held(contestant: Contestant, load: Load) -> int:
    """Returns the highest rate of the round that was no trouble: what is below need not be tried again."""
    held = (
        done.rate
        for done in contestant.completed
        if replace(done, rate=load.rate) == load
        and median(window["p99"] for window in contestant.windows[done]) <= BOUND_MS
    )
    return max(held, default=load.rate)


def _limit(stage: Stage, contestant: Contestant, load: Load) -> str:
    """Says who does not keep up with a load; nothing if everyone does."""
    for _ in range(TRIES):
        window = stage.window(contestant, load, STEP_S, PATIENCE_S, keep=False)
        if window["generator_late_ms"]["p99"] <= MOST_LATENESS_P99_MS:
            return "the engine" if window["p99"] > BOUND_MS else ""
    return "the generator on this machine"
