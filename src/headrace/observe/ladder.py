# SPDX-License-Identifier: Apache-2.0
"""The upper bounds of the buckets in which the engine counts latencies."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.observe.snapshot import Quantiles

_FIRST_MICROS = 100
_STEPS_A_DOUBLING = 4
_STEPS = 82

BOUNDS_MS = tuple(round(_FIRST_MICROS * 2 ** (step / _STEPS_A_DOUBLING)) / 1000 for step in range(_STEPS))
"""As in the engine's Ladder.scala: from a tenth of a millisecond to two minutes, each a fifth above the one before."""


def on_ladder(quantiles: Quantiles) -> list[int]:
    """Returns the counts of all buckets, also of the empty ones; what lies beyond the last bound comes last."""
    counts = [0] * (len(BOUNDS_MS) + 1)
    for bound, count in quantiles.buckets:
        counts[len(BOUNDS_MS) if bound is None else bisect_left(BOUNDS_MS, bound)] += count
    return counts
