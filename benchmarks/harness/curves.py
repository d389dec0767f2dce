# SPDX-License-Identifier: Apache-2.0
"""The points that plots are made of."""

from __future__ import annotations

import math
from functools import cache
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


def apart(places: Sequence[float], gap: float) -> list[float]:
    """Moves places as little as needed for neighbours to be a gap apart, keeping their order.

    Neighbours that are too close form a block around their mean; blocks that meet become one.
    """
    order = sorted(range(len(places)), key=lambda index: places[index])
    blocks: list[list[int]] = []
    for index in order:
        blocks.append([index])
        while len(blocks) > 1 and _start(blocks[-1], places, gap) - _end(blocks[-2], places, gap) < gap:
            last = blocks.pop()
            blocks[-1] += last
    moved = [0.0] * len(places)
    for block in blocks:
        for step, index in enumerate(block):
            moved[index] = _start(block, places, gap) + step * gap
    return moved


def _start(block: list[int], places: Sequence[float], gap: float) -> float:
    return sum(places[index] for index in block) / len(block) - gap * (len(block) - 1) / 2


def _end(block: list[int], places: Sequence[float], gap: float) -> float:
    return _start(block, places, gap) + gap * (len(block) - 1)
