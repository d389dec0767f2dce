# SPDX-License-Identifier: Apache-2.0
"""The look of the plots: two themes, and a colour, dash and marker for each engine, the same in all plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.findings import HEADRACE

if TYPE_CHECKING:
    from collections.abc import Iterable

FLOOR = "hop"
"""The broker alone: no rival, hence grey."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Theme:
    """Colours of one appearance."""

    name: str
    paper: str
    ink: str
    faint: str
    grid: str
    ours: str
    floor: str
    others: tuple[str, ...]


# Apart in hue and in lightness, so that they stay apart for colour-blind eyes and in grey print.
LIGHT = Theme(
    name="light",
    paper="#ffffff",
    ink="#1c2430",
    faint="#5b6675",
    grid="#e3e7ec",
    ours="#0059c9",
    floor="#8a939e",
    others=("#c2410c", "#0f8a5f", "#8e2fb8", "#a37800", "#0e8fa8", "#d1246f", "#5c4632", "#6673d9"),
)
DARK = Theme(
    name="dark",
    paper="#12171e",
    ink="#e8ecf1",
    faint="#9aa6b5",
    grid="#2a323d",
    ours="#5ea4ff",
    floor="#7f8a97",
    others=("#ff8a4c", "#3fcf95", "#d08bf2", "#e3b93c", "#45cfe8", "#ff7eb2", "#c9a585", "#a5aefc"),
)
_DASHES = ("-", (0, (5, 1.6)), (0, (1.4, 1.2)), (0, (6, 1.4, 1.4, 1.4)), (0, (3, 1, 1, 1, 1, 1)))
_MARKERS = "osD^vP*X"


@dataclass(frozen=True, slots=True)
class Style:
    """How one engine is drawn."""

    colour: str
    dash: str | tuple[int, tuple[float, ...]]
    marker: str
    width: float


def styles(engines: Iterable[str], theme: Theme) -> dict[str, Style]:
    """Returns how engines are drawn; the order decides, so give all engines of a report every time."""
    drawn = {HEADRACE: Style(theme.ours, "-", "o", 2.6), FLOOR: Style(theme.floor, (0, (1.4, 1.2)), ".", 1.6)}
    rivals = [engine for engine in dict.fromkeys(engines) if engine not in drawn]
    for place, engine in enumerate(rivals):
        colour = theme.others[place % len(theme.others)]
        drawn[engine] = Style(colour, _DASHES[place % len(_DASHES)], _MARKERS[1 + place % (len(_MARKERS) - 1)], 1.7)
    return drawn
