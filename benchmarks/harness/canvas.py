# SPDX-License-Identifier: Apache-2.0
"""An empty plot in the look of the report, and what several plots have in common."""

from __future__ import annotations

import io
import textwrap
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from harness.curves import apart
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.palette import Style, Theme
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

WIDTH = 10.0
PNG_DPI = 144
# Of the height of an axis, for a line of text.
_LINE = 0.058
# Letters beside a plot.
_LONGEST_LINE = 28


def blank(theme: Theme, title: str, below: str, *, rows: int = 1, height: float = 5.4) -> tuple[Figure, list[Axes]]:
    """Returns an empty figure with its axes, one below the other, which share their scales.

    Args:
        theme: The colours.
        title: What the plot shows.
        below: A line below the title.
        rows: How many axes.
        height: In inches.
    """
    drawn = Figure(figsize=(WIDTH, height), facecolor=theme.paper)
    axes = list(drawn.subplots(rows, 1, sharex=True, sharey=True, squeeze=False)[:, 0])
    top = 1 - 0.82 / height
    drawn.subplots_adjust(left=0.085, right=0.765, top=top, bottom=0.62 / height, hspace=0.34)
    drawn.text(0.012, 1 - 0.12 / height, title, va="top", color=theme.ink, fontsize=14, fontweight="bold")
    drawn.text(0.012, 1 - 0.43 / height, below, va="top", color=theme.faint, fontsize=10)
    for each in axes:
        each.set_facecolor(theme.paper)
        each.grid(visible=True, color=theme.grid, linewidth=0.8)
        each.set_axisbelow(True)
        each.tick_params(which="both", length=0, labelcolor=theme.faint, labelsize=10)
        each.xaxis.label.set_color(theme.faint)
        each.yaxis.label.set_color(theme.faint)
        for side in each.spines.values():
            side.set_visible(False)
    return drawn, axes


def saved(drawn: Figure, **how: Any) -> bytes:  # noqa: ANN401 whatever savefig takes
    """Returns a figure as a file, the same each time it is drawn."""
    file = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "headrace"}):
        drawn.savefig(file, **how)
    return file.getvalue()


def in_powers(axis: Axis, label: str) -> None:
    """Gives an axis a log scale with plain numbers."""
    axis.set_label_text(label)
    axis.set_major_locator(LogLocator(subs=(1.0,), numticks=9))
    axis.set_minor_locator(NullLocator())
    with_plain_numbers(axis)


def with_plain_numbers(axis: Axis) -> None:
    """Writes 10,000 where matplotlib would write a power of ten."""
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.10g}"))


def name_lines(axes: Axes, ends: Sequence[tuple[str, float, Style]], theme: Theme) -> None:
    """Writes names right of the axes, each as near to the end of its line as the others allow.

    Args:
        axes: Whose vertical scale is set already.
        ends: The names, where their lines end on the vertical scale, and how they are drawn.
        theme: The colours.
    """
    place = axes.transData + axes.transAxes.inverted()
    heights = [float(place.transform((1.0, end))[1]) for _, end, _ in ends]
    names = [wrapped(name) for name, _, _ in ends]
    sizes = [_LINE * (1 + 0.75 * name.count("\n")) for name in names]
    for name, (_, _, style), height, moved in zip(names, ends, heights, apart(heights, sizes), strict=True):
        axes.plot(
            [1.005, 1.03],
            [height, moved],
            color=style.colour,
            linewidth=0.9,
            clip_on=False,
            transform=axes.transAxes,
        )
        axes.text(
            1.036,
            moved,
            name,
            transform=axes.transAxes,
            va="center",
            color=style.colour,
            fontsize=10,
            fontweight="bold" if style.colour == theme.ours else "normal",
        )


def wrapped(name: str) -> str:
    """Breaks a name so that it fits beside a plot."""
    return textwrap.fill(name, _LONGEST_LINE)
