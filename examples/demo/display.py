# SPDX-License-Identifier: Apache-2.0
"""Shows the demo: a live table on a terminal, plain lines elsewhere, and the comparison at the end."""

from __future__ import annotations

import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from phase import Phase, Progress, Step
from rich.live import Live
from rich.table import Table
from rich.text import Text
from tally import PERCENTILES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console
    from tally import Alerts

_LINE_SECONDS = 5
_BAR_WIDTH = 20


@contextmanager
def shown(phases: Sequence[Phase], console: Console) -> Iterator[Callable[[Progress], None]]:
    """Yields what the phases report to: a live table on a terminal, plain lines elsewhere."""
    if not console.is_terminal:
        yield _Lines(console).show
        return
    latest = {phase: Progress(phase=phase) for phase in phases}
    # Drawn when there is news, and not by a timer of rich's: the machine has better things to do.
    with Live(side_by_side(list(latest.values())), console=console, auto_refresh=False, transient=True) as live:

        def show(progress: Progress) -> None:
            latest[progress.phase] = progress
            live.update(side_by_side(list(latest.values())), refresh=True)

        yield show


def side_by_side(modes: Sequence[Progress]) -> Table:
    """Returns a table with a column for each mode; narrow enough for any terminal."""
    is_over = all(mode.step is Step.DONE for mode in modes)
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("", min_width=19)
    for mode in modes:
        # Numbers of a warm-up look like what they are.
        style = "dim" if mode.step in (Step.WAITING, Step.STARTING, Step.WARMING_UP) else "bold"
        table.add_column(mode.phase.name, justify="right", style=style, min_width=_BAR_WIDTH)
    table.add_column("ratio" if is_over else "", justify="right", style="green", min_width=6)

    def add(title: str, cell: Callable[[Progress], str], ratio: str = "") -> None:
        table.add_row(title, *map(cell, modes), ratio)

    add("trigger", lambda mode: trigger(mode.phase))
    if not is_over:
        add("now", _step)
        add("", _bar)
    add("rate", lambda mode: f"{mode.rate:,.0f}/s" if mode.latency_ms else "")
    for n, share in enumerate(PERCENTILES):
        ratio = f"{modes[0].latency_ms[n] / modes[-1].latency_ms[n]:,.0f}x" if is_over else ""
        add(f"latency p{share:g}", partial(_latency, n), ratio)
    add("planted fraud found", lambda mode: _alerts(mode.alerts))
    if is_over:
        add("transactions scored", lambda mode: f"{mode.scored:,}")
        add("generator late, p99", lambda mode: milliseconds(mode.lateness_ms[2]))
    return table


def trigger(phase: Phase) -> str:
    """Returns a trigger as it stands in a program."""
    kind, _, interval = phase.trigger.partition("=")
    return f'{kind}="{interval}"'


def milliseconds(value: float) -> str:
    """Returns a latency with as many digits as it deserves."""
    return f"{value:,.0f} ms" if value >= 10 else f"{value:.1f} ms"  # noqa: PLR2004 two digits are enough


class _Lines:
    """Plain lines: one for each step, and one every few seconds within it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last: tuple[Phase, Step] | None = None
        self._next = 0.0

    def show(self, progress: Progress) -> None:
        if self._last == (progress.phase, progress.step) and time.monotonic() < self._next:
            return
        self._last = (progress.phase, progress.step)
        self._next = time.monotonic() + _LINE_SECONDS
        cells = [progress.phase.name, _step(progress)]
        if progress.latency_ms:
            cells.append(f"{progress.rate:,.0f}/s")
            cells += [
                f"p{share:g} {milliseconds(value)}"
                for share, value in zip(PERCENTILES, progress.latency_ms, strict=True)
            ]
        if progress.alerts is not None:
            cells.append(f"fraud found {_alerts(progress.alerts)}")
        self._console.print(Text("  ".join(cells)), soft_wrap=True)


def _step(progress: Progress) -> str:
    if progress.step in (Step.WAITING, Step.DONE):
        return str(progress.step)
    seconds = round(progress.elapsed.total_seconds())
    of = f"/{progress.of.total_seconds():.0f}" if progress.of is not None else ""
    return f"{progress.step} {seconds}{of} s"


def _bar(progress: Progress) -> str:
    if progress.of is None or progress.step is Step.DONE:
        return ""
    filled = round(_BAR_WIDTH * (progress.elapsed / progress.of))
    return "━" * filled + "╌" * (_BAR_WIDTH - filled)


def _latency(n: int, progress: Progress) -> str:
    return milliseconds(progress.latency_ms[n]) if progress.latency_ms else ""


def _alerts(alerts: Alerts | None) -> str:
    if alerts is None:
        return ""
    false = f", {alerts.false} false" if alerts.false else ""
    return f"{alerts.found} of {alerts.planted}{false}"
