# SPDX-License-Identifier: Apache-2.0
"""Who is faster, said only where the measurement is sure of it."""

from __future__ import annotations

from itertools import permutations
from statistics import median
from typing import TYPE_CHECKING, Any

from harness.pool import CASE

if TYPE_CHECKING:
    from collections.abc import Iterable

POINTS = ("p50", "p99")
# Below this ratio of medians a machine with neighbours can turn the order round, even if no two windows overlap.
SURE_RATIO = 1.5
FEWEST_WINDOWS = 3


def rankings(cells: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns every pair of engines that ran the same load, the faster one first.

    A pair is certain if every usable window of the one is faster than every usable window of the other, there are at
    least three of each, and the medians are at least 1.5 times apart.
    """
    measured = [cell for cell in cells if cell["verdict"] == "measured"]
    return [
        _ranking(point, faster, slower)
        for faster, slower in permutations(measured, 2)
        if _load(faster) == _load(slower)
        for point in POINTS
        if faster["median"][point] < slower["median"][point]
    ]


def _load(cell: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(cell[name] for name in CASE)


def _ranking(point: str, faster: dict[str, Any], slower: dict[str, Any]) -> dict[str, Any]:
    ours, theirs = _values(faster, point), _values(slower, point)
    ratio = median(theirs) / median(ours)
    certain = ratio >= SURE_RATIO and min(len(ours), len(theirs)) >= FEWEST_WINDOWS and max(ours) < min(theirs)
    return {
        **{name: faster[name] for name in CASE},
        "point": point,
        "faster": faster["engine"],
        "slower": slower["engine"],
        "ratio": round(ratio, 2),
        "certain": certain,
    }


def _values(cell: dict[str, Any], point: str) -> list[float]:
    return [window[point] for window in cell["windows"] if window["usable"]]
