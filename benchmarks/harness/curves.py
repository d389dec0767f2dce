# SPDX-License-Identifier: Apache-2.0
"""The points that plots are made of."""

from __future__ import annotations

import math
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, TypeAlias

from harness.histogram import DIGITS, HIGHEST_US, LOWEST_US
from hdrh.histogram import HdrHistogram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.findings import Window

Curve: TypeAlias = list[tuple[float, float]]
# Less than the width of a drawn line.
_FINEST = 0.008
# A log scale has no zero.
_LEAST_MS = 0.01


def nines(share: float) -> float:
    """Returns where a share of all records stands on an axis whose every unit is one more nine: 0.99 is at 2."""
    return -math.log10(1 - share)


@cache
def distribution(histograms: tuple[str, ...]) -> Curve:
    """Returns the latencies in ms of all histograms together, by nines.

    The histograms are added, not averaged. The curve ends with the slowest record, which has all others below it: among
    a thousand records it stands at 99.9 %.
    """
    merged = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)
    for histogram in histograms:
        merged.add(HdrHistogram.decode(histogram))
    count = merged.get_total_count()
    curve: Curve = []
    for step in merged.get_recorded_iterator():
        below = step.total_count_to_this_value - step.count_at_value_iterated_to
        reached = min(step.total_count_to_this_value, count - 1)
        for records in (below, reached):
            at = nines(records / count)
            if not curve or at - curve[-1][0] >= _FINEST or records >= count - 1:
                curve.append((at, step.value_iterated_to / 1000))
    return curve


def in_a_row(windows: Sequence[Window], length_s: float) -> tuple[list[Curve], list[float]]:
    """Returns each window's highest latencies over time, and all commits, as if one window followed the other."""
    starts = [place * length_s for place in range(len(windows))]
    both = list(zip(starts, windows, strict=True))
    series = [[(start + at, max(highest, _LEAST_MS)) for at, highest in window.series] for start, window in both]
    commits = [start + at for start, window in both for at in window.commits]
    return series, commits


def apart(places: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Moves things of these sizes as little as needed for none to overlap another, keeping their order.

    Those that are too close form a block around their mean; blocks that meet become one.
    """
    order = sorted(range(len(places)), key=lambda index: places[index])
    # Where the middle of each would be if all stood side by side.
    packed = list(accumulate(((sizes[low] + sizes[high]) / 2 for low, high in pairwise(order)), initial=0.0))
    blocks: list[tuple[float, int]] = []
    for index, middle in zip(order, packed, strict=False):
        shift, count = places[index] - middle, 1
        while blocks and blocks[-1][0] > shift:
            other, others = blocks.pop()
            shift, count = (shift * count + other * others) / (count + others), count + others
        blocks.append((shift, count))
    shifts = [shift for shift, count in blocks for _ in range(count)]
    moved = [0.0] * len(places)
    for index, middle, shift in zip(order, packed, shifts, strict=False):
        moved[index] = middle + shift
    return moved
