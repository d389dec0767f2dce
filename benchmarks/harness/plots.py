# SPDX-License-Identifier: Apache-2.0
"""The plots of a report, each in a light and a dark version."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from harness import canvas, curves, palette
from harness.findings import MEASURED
from harness.wording import figure, sentence
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from harness.findings import Case, Cell, Findings
    from harness.palette import Style, Theme
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# More commits than this in a window are a texture, not events.
_MOST_COMMITS = 12
# Enough to see what comes back; an engine that was measured in many rounds would press the others into a corner.
_MOST_WINDOWS = 4
_PERCENTILES = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)


@dataclass(frozen=True, kw_only=True, slots=True)
class Axis:
    """Something of a case that p99 is plotted against, where a workload was measured with more than one of it."""

    field: str
    name: str
    label: str
    unit: float = 1.0

    def of(self, cell: Cell) -> float:
        """Returns where a cell stands on it."""
        return float(getattr(cell.case, self.field)) / self.unit


AXES = (
    Axis(field="rate", name="rate", label="records per second"),
    Axis(field="checkpoint_ms", name="checkpoint interval", label="seconds between checkpoints", unit=1000.0),
    Axis(field="size", name="record size", label="bytes of a record"),
    Axis(field="keys", name="keys", label="keys"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Plot:
    """A plot, drawn when it is asked for.

    Attributes:
        name: A name for files.
        workload: What it belongs to.
        title: What it shows, in a few words.
        words: What it shows, for someone who does not see it.
        draw: Draws it in a theme.
    """

    name: str
    workload: str
    title: str
    words: str
    draw: Callable[[Theme], Figure]

    def png(self, theme: Theme = palette.LIGHT) -> bytes:
        """Returns it as a PNG."""
        return canvas.saved(self.draw(theme), format="png", dpi=canvas.PNG_DPI)

    def svg(self, theme: Theme) -> bytes:
        """Returns it as an SVG."""
        return canvas.saved(self.draw(theme), format="svg", metadata={"Date": None})


def plots(findings: Findings) -> Iterator[Plot]:
    """Yields the plots of every workload."""
    for workload in findings.workloads():
        case = findings.base(workload)
        cells = _measured(findings, case)
        if cells:
            p99s = [f"{cell.title} p99 {figure(cell.median['p99'])} ms" for cell in cells]
            yield _plot("cdf", case, "Latency distribution", p99s, partial(_draw_distribution, findings, cells))
            yield _plot("time", case, "Latency over time", p99s, partial(_draw_over_time, findings, cells))
        for axis in AXES:
            if along := _along(findings, case, axis):
                p99s = [f"{cell.title} at {axis.of(cell):,g} {figure(cell.median['p99'])} ms" for cell in along]
                draw = partial(_draw_against, findings, axis, along)
                yield _plot(f"p99-by-{axis.name}", case, f"p99 against {axis.name}", p99s, draw)
        if priced := [cell for cell in cells if cell.cpu_s_per_million]:
            costs = [f"{cell.title} {figure(cell.cpu_s_per_million)} s" for cell in priced]
            title = "Processor seconds per million records"
            yield _plot("cpu", case, title, costs, partial(_draw_cost, findings, priced))


def _plot(name: str, case: Case, title: str, figures: list[str], draw: Callable[[str, Theme], Figure]) -> Plot:
    return Plot(
        name=f"{case.workload}-{name.replace(' ', '-')}",
        workload=case.workload,
        title=title,
        words=f"{title}, {case.workload}, {sentence(case)}: {'; '.join(figures)}.",
        draw=partial(draw, f"{case.workload}: {title[0].lower()}{title[1:]}"),
    )


def _measured(findings: Findings, case: Case) -> list[Cell]:
    return [cell for cell in findings.of_case(case) if cell.verdict == MEASURED and cell.usable]


def _along(findings: Findings, base: Case, axis: Axis) -> list[Cell]:
    """Returns the cells that differ from a base case in one axis only, of engines that have more than one of them."""
    cases = [case for case in findings.cases() if replace(case, **{axis.field: getattr(base, axis.field)}) == base]
    cells = [cell for case in cases for cell in _measured(findings, case)]
    count = Counter(cell.engine for cell in cells)
    return [cell for cell in cells if count[cell.engine] > 1]


def _styles(findings: Findings, theme: Theme) -> dict[str, Style]:
    return palette.styles((cell.engine for cell in findings.cells), theme)


def _draw_distribution(findings: Findings, cells: list[Cell], title: str, theme: Theme) -> Figure:
    drawn, (axes,) = canvas.blank(theme, title, sentence(cells[0].case))
    styles = _styles(findings, theme)
    ends = []
    for cell in cells:
        style = styles[cell.engine]
        nines, latencies = zip(*curves.distribution(tuple(window.histogram for window in cell.usable)), strict=True)
        axes.plot(nines, latencies, color=style.colour, linestyle=style.dash, linewidth=style.width)
        axes.plot(nines[-1], latencies[-1], style.marker, color=style.colour, markersize=5)
        ends.append((cell.title, latencies[-1], style))
    axes.set_yscale("log")
    canvas.in_powers(axes.yaxis, "latency, ms")
    # The few fastest records would take a third of the height.
    axes.set_ylim(bottom=min(_first_ms(cell) for cell in cells) / 1.3)
    axes.set_xlim(0, axes.dataLim.x1 * 1.015)
    axes.xaxis.set_major_locator(FixedLocator([curves.nines(share) for share in _PERCENTILES]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda at, _: f"{100 * (1 - 10**-at):.6g} %"))
    axes.set_xlabel("share of records at least this fast, one more nine at each step")
    canvas.name_lines(axes, ends, theme)
    return drawn


def _first_ms(cell: Cell) -> float:
    """Returns a latency that one record in fifty undercuts."""
    curve = curves.distribution(tuple(window.histogram for window in cell.usable))
    return next(latency for at, latency in curve if at >= curves.nines(0.02))


def _draw_over_time(findings: Findings, cells: list[Cell], title: str, theme: Theme) -> Figure:
    height = 1.5 + 0.92 * len(cells)
    drawn, rows = canvas.blank(theme, title, sentence(cells[0].case), rows=len(cells), height=height)
    styles = _styles(findings, theme)
    rows[0].set_yscale("log")
    for axes, cell in zip(rows, cells, strict=True):
        canvas.in_powers(axes.yaxis, "ms")
        axes.tick_params(axis="y", labelsize=8)
        _draw_windows(axes, cell, styles[cell.engine], theme)
    lows, highs = zip(*(axes.dataLim.intervaly for axes in rows), strict=True)
    rows[0].set_ylim(min(lows) / 1.5, max(highs) * 1.5)
    rows[0].set_xlim(0, max(len(cell.usable[:_MOST_WINDOWS]) * cell.window_s for cell in cells))
    rows[-1].set_xlabel(
        "seconds under load, window after window; each point is the slowest record of 0.1 s; ▴ or | commit"
    )
    return drawn


def _draw_windows(axes: Axes, cell: Cell, style: Style, theme: Theme) -> None:
    series, commits = curves.in_a_row(cell.usable[:_MOST_WINDOWS], cell.window_s)
    for curve in series:
        at, highest = zip(*curve, strict=True)
        axes.plot(at, highest, color=style.colour, linewidth=1.1)
    for start in range(1, len(series)):
        axes.axvline(start * cell.window_s, color=theme.faint, linewidth=1.0)
    across = axes.get_xaxis_transform()
    if len(commits) <= _MOST_COMMITS * len(series):
        axes.vlines(commits, 0, 1, transform=across, color=theme.faint, linewidth=0.6, linestyle=":")
        axes.plot(commits, [0] * len(commits), "^", transform=across, color=theme.ink, markersize=4, clip_on=False)
    else:
        axes.plot(commits, [0] * len(commits), "|", transform=across, color=theme.faint, markersize=4, clip_on=False)
    weight = "bold" if style.colour == theme.ours else "normal"
    name = canvas.wrapped(cell.title)
    axes.text(1.012, 0.5, name, transform=axes.transAxes, va="center", color=style.colour, fontweight=weight)


def _draw_against(findings: Findings, axis: Axis, cells: list[Cell], title: str, theme: Theme) -> Figure:
    below = f"{sentence(cells[0].case, without=axis.field)}; bars from the lowest to the highest window"
    drawn, (axes,) = canvas.blank(theme, title, below)
    styles = _styles(findings, theme)
    ends = []
    for engine in dict.fromkeys(cell.engine for cell in cells):
        style = styles[engine]
        line = sorted((cell for cell in cells if cell.engine == engine), key=axis.of)
        at, p99s = [axis.of(cell) for cell in line], [cell.median["p99"] for cell in line]
        lows, highs = zip(*(cell.spread["p99"] for cell in line), strict=True)
        axes.vlines(at, lows, highs, color=style.colour, alpha=0.45, linewidth=4)
        axes.plot(at, p99s, color=style.colour, linestyle=style.dash, linewidth=style.width, marker=style.marker)
        ends.append((line[0].title, p99s[-1], style))
    axes.set_xscale("log")
    axes.set_yscale("log")
    canvas.in_powers(axes.yaxis, "p99 latency, ms")
    canvas.with_plain_numbers(axes.xaxis)
    axes.xaxis.set_major_locator(FixedLocator(sorted({axis.of(cell) for cell in cells})))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(axis.label)
    canvas.name_lines(axes, ends, theme)
    return drawn


def _draw_cost(findings: Findings, cells: list[Cell], title: str, theme: Theme) -> Figure:
    cells = sorted(cells, key=lambda cell: cell.cpu_s_per_million or 0, reverse=True)
    drawn, (axes,) = canvas.blank(theme, title, sentence(cells[0].case), height=1.4 + 0.4 * len(cells))
    drawn.subplots_adjust(left=0.26, right=0.96)
    styles = _styles(findings, theme)
    costs = [cell.cpu_s_per_million or 0.0 for cell in cells]
    bars = axes.barh(
        [canvas.wrapped(cell.title) for cell in cells],
        costs,
        color=[styles[cell.engine].colour for cell in cells],
        height=0.62,
    )
    axes.bar_label(bars, [figure(cost) for cost in costs], padding=5, color=theme.ink)
    axes.grid(visible=False, axis="y")
    axes.margins(x=0.08)
    canvas.with_plain_numbers(axes.xaxis)
    axes.set_xlabel("seconds of one processor")
    axes.tick_params(axis="y", labelcolor=theme.ink)
    return drawn
