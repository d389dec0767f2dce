# SPDX-License-Identifier: Apache-2.0
"""A snapshot as a terminal shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from headrace.observe.sampling import current_runs

if TYPE_CHECKING:
    from rich.console import RenderableType

    from headrace.observe.snapshot import BusyKey, Parts, Quantiles, Query, Snapshot

NONE = "-"
"""What was not measured."""

_STYLES = {"running": "green", "failed": "bold red", "starting": "yellow", "stopped": "dim"}
_SHOWN = 5
_KEY_SHOWN = 24
_NOTABLE = 0.05
_BARS = " ▁▂▃▄▅▆▇█"
_SECOND_MS = 1000
_MINUTE_MS = 60_000
_TENTHS_BELOW = 9.95


def as_screen(snapshot: Snapshot, where: str) -> RenderableType:
    """Returns an application with all its queries."""
    name = "no application yet" if snapshot.application is None else plain(snapshot.application.name)
    head = Text.assemble((name, "bold"), f"  {where}")
    queries = sorted(current_runs(snapshot), key=lambda query: query.ended_ms is not None)
    return Group(head, *(_query(query) for query in queries), "" if queries else "  no query has been started yet\n")


def _query(query: Query) -> RenderableType:
    rows: list[RenderableType] = [_title(query)]
    if query.ended_ms is None:
        rows += [_latency(query), _flow(query)]
        tables = ((query.stages, _stages), (query.partitions, _partitions), (query.python, _workers))
        rows += [table(query) for found, table in tables if found]
    if query.error is not None:
        rows.append(Text(plain(query.error.message), style="red"))
    return Group(*rows)


def _title(query: Query) -> Text:
    facts = [query.mode, query.delivery, None if query.epoch is None else f"epoch {query.epoch.number}"]
    return Text.assemble(
        "\n  ",
        (plain(query.label), "bold"),
        "  ",
        (query.state, _STYLES.get(query.state, "")),
        "  ",
        ", ".join(fact for fact in facts if fact),
    )


def _latency(query: Query) -> Table:
    table = _table("last 10 seconds", "p50", "p90", "p99", "p99.9", "max")
    recent = None if query.latency is None else query.latency.recent
    for name, found in _parts(recent):
        values = [NONE] * 5 if found is None else [duration(value) for value in _values(found)]
        table.add_row(name, *values, style="bold" if name == "end to end" else "")
    return table


def _parts(parts: Parts | None) -> list[tuple[str, Quantiles | None]]:
    if parts is None:
        return [("end to end", None)]
    return [
        ("end to end", parts.end_to_end),
        ("  queueing", parts.queueing),
        ("  processing", parts.processing),
        ("  delivery", parts.delivery),
    ]


def _values(found: Quantiles) -> tuple[float, ...]:
    return found.p50, found.p90, found.p99, found.p999, found.max


def _flow(query: Query) -> Text:
    rate, lag = query.rate, query.lag
    age = None if query.commits is None else query.commits.age_ms
    gap = query.boundaries[-1].gap_ms if query.boundaries else None
    facts = [
        f"read {NONE if rate is None else number(rate.read)}/s {_bars(query)}",
        f"written {NONE if rate is None else number(rate.written)}/s",
        f"lag {NONE if lag is None else number(lag.records)} records",
        f"last commit {NONE if age is None else duration(age) + ' ago'}",
        f"boundary gap {duration(gap)}",
        f"dead letters {number(query.dead_letters)}",
    ]
    return Text(f"  {'   '.join(facts[:3])}\n  {'   '.join(facts[3:])}")


def _bars(query: Query) -> str:
    """The last twenty seconds of what was read."""
    counts = [each.read or 0 for each in query.slices[-20:]]
    most = max(counts, default=0)
    return "".join(_BARS[round(count / most * (len(_BARS) - 1))] for count in counts) if most else ""


def _stages(query: Query) -> Table:
    table = _table("stage", "p50", "p99", "rows/s", "tasks", "full", "hot task")
    for stage in query.stages:
        times = stage.processing
        table.add_row(
            plain(stage.name),
            duration(None if times is None else times.p50),
            duration(None if times is None else times.p99),
            number(stage.rows_out),
            number(stage.tasks),
            percent(stage.queue),
            NONE if stage.skew is None else f"{stage.skew.hot}: {percent(stage.skew.share)}",
        )
    return table


def _partitions(query: Query) -> Table:
    table = _table("slowest partitions", "p99", "records/s", "lag", "executor", "busiest key")
    slowest = sorted(query.partitions, key=lambda each: (each.p99 or 0, each.lag_records or 0), reverse=True)
    for each in slowest[:_SHOWN]:
        place = plain(f"{each.topic}-{each.partition}")
        figures = duration(each.p99), number(each.rate), number(each.lag_records)
        table.add_row(place, *figures, each.executor or NONE, _busiest(each.busiest_key))
    return table


def _busiest(busy: BusyKey | None) -> str:
    if busy is None or busy.share < _NOTABLE:
        return NONE
    return plain(f"{percent(busy.share)} {busy.key[:_KEY_SHOWN]}")


def _workers(query: Query) -> Table:
    table = _table("Python workers", "busy", "a batch, p50", "rows", "memory MB", "alive")
    busiest = sorted(query.python, key=lambda each: each.busy or 0, reverse=True)
    for each in busiest[:_SHOWN]:
        alive = NONE if each.alive is None else "yes" if each.alive else "no"
        name = plain(f"{each.pid or NONE} {', '.join(each.functions)}")
        table.add_row(
            name, percent(each.busy), duration(each.batch_p50), number(each.rows), number(each.memory_mb), alive
        )
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, padding=(0, 1), header_style="dim")
    # In a narrow window names break into lines; numbers never do.
    table.add_column(first, min_width=20, max_width=60)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def plain(text: str) -> str:
    """Returns text of somebody else's so that it cannot command the terminal."""
    return "".join(letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in text)


def duration(ms: float | None) -> str:
    """Returns a time as people read it."""
    if ms is None:
        return NONE
    if ms < _SECOND_MS:
        return f"{_digits(ms)} ms"
    return f"{_digits(ms / _SECOND_MS)} s" if ms < _MINUTE_MS else f"{_digits(ms / _MINUTE_MS)} min"


def number(value: float | None) -> str:
    """Returns a count, or a rate, without false precision."""
    return NONE if value is None else f"{value:,.0f}"


def percent(share: float | None) -> str:
    """Returns a share of one."""
    return NONE if share is None else f"{share:.0%}"


def _digits(value: float) -> str:
    if value < 1:
        return f"{value:.2f}"
    return f"{value:.1f}" if value < _TENTHS_BELOW else f"{value:,.0f}"
