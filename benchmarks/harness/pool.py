# SPDX-License-Identifier: Apache-2.0
"""Cells of a result that say the same thing, made one.

A long run measures some engines in several rounds under the same load: Headrace beside each group of rivals, for one.
All their windows count alike, so what differs from round to round is part of the spread, and nothing is certain that
holds in one of the rounds only.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

CASE = ("workload", "rate", "size", "keys", "partitions", "checkpoint_ms")
"""The fields of a cell that say what was asked of all engines alike."""
_BEST_FIRST = ("measured", "unusable", "cannot")


def pooled(cells: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the cells with those of one engine in one case made one, at the place of the first."""
    same: dict[Hashable, list[dict[str, Any]]] = {}
    for cell in cells:
        same.setdefault((*(cell[name] for name in CASE), cell["engine"]), []).append(cell)
    return [_one(group) if len(group) > 1 else group[0] for group in same.values()]


def _one(cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    best = min(cells, key=lambda cell: _BEST_FIRST.index(cell["verdict"]))
    windows = [window for cell in cells if cell["verdict"] == best["verdict"] for window in cell.get("windows") or ()]
    whole = {**best, "windows": windows, "why": next((cell["why"] for cell in cells if cell.get("why")), "")}
    for trial in ("highest", "recovery"):
        whole[trial] = next((cell[trial] for cell in cells if cell.get(trial)), {})
    if counting := [window for window in windows if window["usable"]] or windows:
        whole |= summary(counting, best["median"])
    return whole


def summary(windows: Sequence[dict[str, Any]], points: Iterable[str]) -> dict[str, Any]:
    """Returns what a cell says of its windows: medians, spreads and the cost."""
    values = {point: [window[point] for window in windows] for point in points}
    seconds = sum(window["engine_cpu_s"] for window in windows)
    records = sum(window["records"] + window.get("behind", 0) for window in windows)
    return {
        "median": {point: median(each) for point, each in values.items()},
        "spread": {point: [min(each), max(each)] for point, each in values.items()},
        "cpu_s_per_million": round(seconds / records * 1_000_000, 1),
    }
