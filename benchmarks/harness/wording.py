# SPDX-License-Identifier: Apache-2.0
"""The words and figures of a report, the same in the terminal, on the page and in the documentation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING

from harness.findings import CANNOT, HEADRACE, MEASURED, POINTS
from workloads.catalog import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.findings import Case, Cell, Findings, Ranking

NOTHING = "–"
COLUMNS = ("engine", *(f"{point} ms" for point in POINTS), "p50 ×", "p99 ×", "CPU-s / M", "slots", "usable")
RATIOS_OF = ("p50", "p99")
LEGEND = (
    "ms: median of the windows, with the lowest and the highest window; ×: how many times Headrace's; "
    "CPU-s / M: processor seconds of the engine per million records"
)


def figure(number: float | None) -> str:
    """Returns a number with three digits, as far as it has them."""
    if number is None:
        return NOTHING
    for least, digits in ((99.95, 0), (9.995, 1)):
        if abs(number) >= least:
            return f"{number:,.{digits}f}"
    return f"{number:.2f}"


def times(ratio: float | None) -> str:
    """Returns a ratio as a factor."""
    if ratio is None:
        return NOTHING
    return f"{ratio:,.0f}×" if ratio >= 9.95 else f"{ratio:.1f}×"  # noqa: PLR2004 two digits at least


def sentence(case: Case, *, without: str = "") -> str:
    """Says what was asked of the engines, but for the axis of a plot."""
    parts = {
        "rate": f"{case.rate:,} records/s",
        "size": f"{case.size:,} B each",
        "keys": f"{case.keys:,} keys",
        "partitions": f"{case.partitions} partitions",
        "checkpoint_ms": f"checkpoints every {case.checkpoint_ms / 1000:g} s",
    }
    return ", ".join(words for axis, words in parts.items() if axis != without)


def described(workload: str) -> str:
    """Says what a workload's query does."""
    return WORKLOADS[workload].title if workload in WORKLOADS else "a query from outside of the catalog"


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A cell as text.

    Attributes:
        title: The engine.
        medians: One for each of POINTS.
        spreads: Likewise; empty where there is none.
        ratios: One for each of RATIOS_OF.
        cpu: Processor seconds per million records.
        slots: Slots held.
        verdict: How many windows count, or why there is none.
        is_flawed: Whether the verdict must not be overlooked.
        note: What must be said beside the verdict; empty if nothing.
        is_ours: Whether it is Headrace.
    """

    title: str
    medians: tuple[str, ...]
    spreads: tuple[str, ...]
    ratios: tuple[str, ...]
    cpu: str
    slots: str
    verdict: str
    is_flawed: bool
    note: str
    is_ours: bool


def rows(findings: Findings, case: Case) -> list[Row]:
    """Returns a case as rows, the fastest engine first."""
    cells = findings.of_case(case)
    ours = next((cell.median for cell in cells if cell.engine == HEADRACE and cell.verdict == MEASURED), {})
    return [_row(cell, ours) for cell in cells]


def _row(cell: Cell, ours: Mapping[str, float]) -> Row:
    # An engine that fell out of its round left figures of better days; they are no result.
    ran = cell.verdict != CANNOT
    medians = cell.median if ran else {}
    # What is not usable is shown, and compared with nothing.
    compared = medians if cell.verdict == MEASURED else {}
    return Row(
        title=cell.title,
        medians=tuple(figure(medians.get(point)) for point in POINTS),
        spreads=tuple(_spread(cell, point) if ran else "" for point in POINTS),
        ratios=tuple(times(_ratio(compared.get(point), ours.get(point))) for point in RATIOS_OF),
        cpu=figure(cell.cpu_s_per_million if ran else None),
        slots=NOTHING if cell.slots is None else str(cell.slots),
        verdict=_verdict(cell),
        is_flawed=cell.verdict != MEASURED or len(cell.usable) < len(cell.windows),
        note=_note(cell),
        is_ours=cell.engine == HEADRACE,
    )


def _spread(cell: Cell, point: str) -> str:
    if point not in cell.spread:
        return ""
    lowest, highest = cell.spread[point]
    return f"{figure(lowest)}–{figure(highest)}"


def _ratio(theirs: float | None, ours: float | None) -> float | None:
    return theirs / ours if theirs is not None and ours else None


def _verdict(cell: Cell) -> str:
    if cell.verdict != MEASURED:
        return cell.verdict
    if len(cell.usable) < len(cell.windows):
        return f"{len(cell.usable)} of {len(cell.windows)} windows"
    return f"{len(cell.windows)} windows"


def _note(cell: Cell) -> str:
    reason = next((line.strip() for line in cell.why.splitlines() if line.strip()), "")
    if cell.verdict == MEASURED:
        return f"in another round: {reason}" if reason else ""
    return f"{cell.verdict}: {reason or 'no reason given'}"


@dataclass(frozen=True, slots=True)
class Comparisons:
    """What the rankings of one case come to, in sentences.

    Attributes:
        certain: How Headrace surely compares with others; how others do among themselves, if it did not run.
        close: Likewise, where it is too close to call.
        rest: What is certain of the others among themselves, if Headrace did run.
    """

    certain: list[str]
    close: list[str]
    rest: list[str]


def comparisons(findings: Findings, case: Case) -> Comparisons:
    """Returns the rankings of a case in words, percentile by percentile, the fastest engine first."""
    order = {cell.engine: place for place, cell in enumerate(findings.of_case(case))}
    about = sorted(
        (one for one in findings.rankings if one.case == case),
        key=lambda one: (POINTS.index(one.point), order.get(one.faster, 0), order.get(one.slower, 0)),
    )
    ours = [one for one in about if HEADRACE in (one.faster, one.slower)]
    others = [one for one in about if one not in ours]
    titles = findings.titles()
    return Comparisons(
        _sentences([one for one in ours or others if one.certain], titles),
        _sentences([one for one in ours or others if not one.certain], titles, close=True),
        _sentences([one for one in others if one.certain], titles) if ours else [],
    )


def _sentences(pairs: list[Ranking], titles: Mapping[str, str], *, close: bool = False) -> list[str]:
    """Says of each engine, percentile by percentile, how it compares with others; of Headrace wherever it is one."""

    def seen_from(one: Ranking) -> tuple[str, str, str]:
        if one.slower == HEADRACE:
            return one.point, one.slower, "slower"
        return one.point, one.faster, "faster"

    lines = []
    for (point, engine, how), group in groupby(pairs, key=seen_from):
        names = ((one.faster if how == "slower" else one.slower, one.ratio) for one in group)
        others = ", ".join(f"{titles.get(name, name)} ({times(ratio)})" for name, ratio in names)
        verb = f"may be {how} than" if close else f"is {how} than"
        lines.append(f"{point}: {titles.get(engine, engine)} {verb} {others}")
    return lines


def company(findings: Findings, case: Case) -> str:
    """Says what else ran beside the engines of a case; empty if nothing did run."""
    windows = [(cell.window_s, window.said) for cell in findings.of_case(case) for window in cell.usable]
    harness = [said["harness_cpu_s"] / seconds for seconds, said in windows if "harness_cpu_s" in said]
    load = [said["load_cpu_s"] / seconds for seconds, said in windows if "load_cpu_s" in said]
    foreign = [said["foreign_cpu"] for _, said in windows if "foreign_cpu" in said]
    stolen = [said["stolen_cpu"] for _, said in windows if "stolen_cpu" in said]
    if not (harness and foreign):
        return ""
    return (
        f"Beside the engine, the broker, generator, consumer and checks used {median(harness):.2f} processors"
        + (f" (generator and consumer {median(load):.2f})" if load else "")
        + "; "
        f"others used {median(foreign):.0%} of the machine, {max(foreign):.0%} at most"
        + (f"; its host took {median(stolen):.1%} of it, {max(stolen):.1%} at most" if any(stolen) else "")
    )


def machines(findings: Findings) -> list[str]:
    """Says of each run when, of what and on what it was made."""
    return [
        ", ".join([f"{run['when']}", f"commit {run['commit'] or 'unknown'}", *_machine(run["machine"] or {})])
        for run in findings.runs
    ]


def _machine(said: Mapping[str, object]) -> list[str]:
    words = {"cpus": "{} processors", "model": "{}", "memory_gb": "{} GB", "system": "{}", "broker": "Kafka {}"}
    return [words.get(name, f"{name} {{}}").format(value) for name, value in said.items()]


def begun(text: str) -> str:
    """Returns a text as the begin of a sentence; what follows the first letter keeps its case."""
    return text[:1].upper() + text[1:]
