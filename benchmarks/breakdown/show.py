# SPDX-License-Identifier: Apache-2.0
"""Prints what is known of where the time goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from breakdown.boundary import BESIDE, PARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LEGS = ("p50", "send", "engine", "receive")
WIDTH = 30
PLACES_SHOWN = 12


def show(result: dict[str, Any]) -> None:
    """Prints a table for each of the three questions, with a column for each cell."""
    for cell in result["cells"]:
        if cell["verdict"] != "measured":
            print(f"{cell['workload']}, {cell['engine']}: cannot: {cell['why'].splitlines()[-1]}")
    cells = [cell for cell in result["cells"] if cell["verdict"] == "measured"]
    if not cells:
        return
    print("\nAn ordinary record, ms")
    _table(LEGS, cells, lambda cell: cell["path"])
    print("\nThe boundary gap, ms (medians)")
    _table((*PARTS, *BESIDE), cells, lambda cell: cell["boundary"]["median"])
    print("\nProcessor time for each record, microseconds")
    totals: dict[str, float] = {}
    for cell in cells:
        for place, time in _processor(cell).items():
            totals[place] = max(time, totals.get(place, 0.0))
    largest = sorted(totals, key=lambda place: -totals[place])[:PLACES_SHOWN]
    _table(largest, cells, _processor)


def _table(
    rows: Sequence[str], cells: Sequence[dict[str, Any]], values: Callable[[dict[str, Any]], dict[str, float]]
) -> None:
    heads = [f"{cell['workload']}/{cell['engine']}" for cell in cells]
    print(" " * WIDTH + "".join(f"{head:>{len(head) + 3}}" for head in heads))
    for row in rows:
        figures = [values(cell).get(row) for cell in cells]
        told = [
            f"{'-' if figure is None else f'{figure:.1f}':>{len(head) + 3}}"
            for head, figure in zip(heads, figures, strict=True)
        ]
        print(f"{row:{WIDTH}}" + "".join(told))


def _processor(cell: dict[str, Any]) -> dict[str, float]:
    us_per_record: dict[str, float] = cell.get("processor", {}).get("us_per_record", {})
    return us_per_record
