# SPDX-License-Identifier: Apache-2.0
"""Shows the demo: a live table on a terminal, plain lines elsewhere, and the comparison at the end."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from phase import Phase, Progress, Step
from rich.live import Live
from rich.table import Table
from rich.text import Text
from tally import PERCENTILES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console
    from tally import Alerts

_LINE_SECONDS = 5
_BAR_WIDTH = 12


@contextmanager
def shown(phases: Sequence[Phase], console: Console) -> Iterator[Callable[[Progress], None]]:
    """Yields what the phases report to: a live table on a terminal, plain lines elsewhere."""
    if not console.is_terminal:
        yield _Lines(console).show
        return
    latest = {phase: Progress(phase=phase) for phase in phases}
    # Drawn when there is news, and not by a timer of rich's: the machine has better things to do.
    with Live(_table(latest.values()), console=console, auto_refresh=False, transient=True) as live:

        def show(progress: Progress) -> None:
            latest[progress.phase] = progress
            live.update(_table(latest.values()), refresh=True)

        yield show


def comparison(before: Progress, after: Progress) -> Table:
    """Returns the side-by-side table."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("")
    for progress in (before, after):
        table.add_column(progress.phase.name, justify="right", style="bold" if progress is after else "")
    table.add_column("ratio", justify="right", style="green")
    table.add_row("trigger", *(trigger(progress.phase) for progress in (before, after)), "")
    for n, share in enumerate(PERCENTILES):
        slow, fast = before.latency_ms[n], after.latency_ms[n]
        table.add_row(f"latency p{share:g}", milliseconds(slow), milliseconds(fast), f"{slow / fast:,.0f}x")
    table.add_row("transactions scored", f"{before.scored:,}", f"{after.scored:,}", "")
    table.add_row("planted fraud found", *(_alerts(progress.alerts) for progress in (before, after)), "")
    table.add_row("generator late, p99", *(milliseconds(progress.lateness_ms[2]) for progress in (before, after)), "")
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


def _table(rows: Iterable[Progress]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("mode", "trigger", ""):
        table.add_column(title)
    for title in ("rate", *(f"p{share:g}" for share in PERCENTILES), "fraud found"):
        table.add_column(title, justify="right", min_width=8)
    for row in rows:
        latency = [milliseconds(value) for value in row.latency_ms] or [""] * len(PERCENTILES)
        rate = f"{row.rate:,.0f}/s" if row.latency_ms else ""
        # Numbers of a warm-up are shown, but look like what they are.
        style = "dim" if row.step in (Step.WAITING, Step.WARMING_UP) else "bold" if row.step is Step.MEASURING else ""
        table.add_row(
            row.phase.name, trigger(row.phase), _step(row, bar=True), rate, *latency, _alerts(row.alerts), style=style
        )
    return table


def _step(progress: Progress, *, bar: bool = False) -> str:
    if progress.step in (Step.WAITING, Step.DONE):
        return str(progress.step)
    seconds = round(progress.elapsed.total_seconds())
    if progress.of is None:
        return f"{progress.step} {seconds} s"
    total = round(progress.of.total_seconds())
    text = f"{progress.step} {seconds}/{total} s"
    if not bar:
        return text
    filled = _BAR_WIDTH * seconds // total
    return f"{text} {'━' * filled}{'╌' * (_BAR_WIDTH - filled)}"


def _alerts(alerts: Alerts | None) -> str:
    if alerts is None:
        return ""
    false = f", {alerts.false} false" if alerts.false else ""
    return f"{alerts.found} of {alerts.planted}{false}"
