# SPDX-License-Identifier: Apache-2.0
"""Findings as text: for the terminal, and as Markdown for the documentation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from harness import findings as results
from harness.trials import TRIALS, TRIALS_LEGEND, trials
from harness.wording import COLUMNS, LEGEND, begun, company, comparisons, described, machines, rows, sentence
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from pathlib import Path

    from harness.findings import Case, Findings
    from harness.wording import Row

NARROWEST = 132
"""Columns of text that the table needs; a pipe or a log has room for them."""
_MARKERS = re.compile(r"(<!-- results: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def show(findings: Findings, console: Console | None = None) -> None:
    """Prints tables and rankings."""
    console = console or Console()
    if not console.is_terminal:
        console.width = max(console.width, NARROWEST)
    for line in machines(findings):
        console.print(Text(line, style="dim"))
    for case in findings.cases():
        console.print()
        console.print(_table(findings, case))
        for line in _notes(findings, case):
            console.print(Padding(Text(line), (0, 0, 0, 2)))
        if rest := trials(findings, case):
            console.print(Padding(_trials(rest), (1, 0, 0, 0)))
    console.print(Padding(Text(LEGEND, style="dim"), (1, 0, 0, 0)))


def _table(findings: Findings, case: Case) -> Table:
    heading = Text.assemble((case.workload, "bold"), f": {described(case.workload)}\n", (sentence(case), "dim"))
    table = Table(title=heading, title_justify="left", title_style="", show_edge=False, pad_edge=False, box=None)
    for name in COLUMNS:
        is_text = name in (COLUMNS[0], COLUMNS[-1])
        wraps = name == COLUMNS[0]
        table.add_column(name, justify="left" if is_text else "right", no_wrap=not wraps, header_style="dim")
    for row in rows(findings, case):
        table.add_row(*_texts(row))
    return table


def _trials(lines: list[tuple[str, ...]]) -> Table:
    table = Table(show_edge=False, pad_edge=False, box=None, caption=TRIALS_LEGEND, caption_justify="left")
    for name in TRIALS:
        table.add_column(name, justify="left" if name in ("engine", "limited by") else "right", header_style="dim")
    for line in lines:
        table.add_row(*line)
    return table


def _texts(row: Row) -> list[Text]:
    strong = "bold" if row.is_ours else ""
    points = [
        Text.assemble((median, strong), (f"\n{spread}", "dim"))
        for median, spread in zip(row.medians, row.spreads, strict=True)
    ]
    rest = [Text(text) for text in (*row.ratios, row.cpu, row.slots)]
    verdict = Text(row.verdict, style="yellow" if row.is_flawed else "dim")
    return [Text(row.title, style=strong), *points, *rest, verdict]


def _notes(findings: Findings, case: Case) -> list[str]:
    """Returns what stands below a table: reasons, then who is faster."""
    lines = [f"{row.title} {row.note}" for row in rows(findings, case) if row.note]
    words = comparisons(findings, case)
    if words.certain:
        lines += ["Certain:", *(f"  {line}" for line in words.certain)]
    if words.close:
        lines += ["Too close to call:", *(f"  {line}" for line in words.close)]
    if beside := company(findings, case):
        lines.append(f"{beside}.")
    return lines


def as_markdown(findings: Findings) -> str:
    """Returns the same as Markdown."""
    parts = [f"Measured {line}." for line in machines(findings)]
    for workload in findings.workloads():
        parts.append(f"### {workload}\n\n{begun(described(workload))}.")
        parts += [_markdown(findings, case) for case in findings.cases() if case.workload == workload]
    return "\n\n".join([*parts, f"({LEGEND}.)"]) + "\n"


def _markdown(findings: Findings, case: Case) -> str:
    columns = COLUMNS[:-1]
    lines = [
        f"{begun(sentence(case))}:",
        "",
        f"| {' | '.join(columns)} |",
        f"|---|{'---:|' * (len(columns) - 1)}",
    ]
    for row in rows(findings, case):
        title = f"**{_escaped(row.title)}**" if row.is_ours else _escaped(row.title)
        points = (
            f"{median} ({spread})" if spread else median
            for median, spread in zip(row.medians, row.spreads, strict=True)
        )
        lines.append(f"| {' | '.join((title, *points, *row.ratios, row.cpu, row.slots))} |")
    notes = [
        f"- {_escaped(f'{row.title} {row.note}' if row.note else f'{row.title}: {row.verdict}')}"
        for row in rows(findings, case)
        if row.is_flawed or row.note
    ]
    words = comparisons(findings, case)
    notes += [f"- {_escaped(line)}" for line in words.certain]
    notes += [f"- Too close to call, {_escaped(line)}" for line in words.close]
    if beside := company(findings, case):
        notes.append(f"- {beside}")
    parts = ["\n".join(lines), "\n".join(notes)]
    if rest := trials(findings, case):
        head = [f"| {' | '.join(TRIALS)} |", f"|---{'|---:' * (len(TRIALS) - 1)}|"]
        body = [f"| {' | '.join(map(_escaped, line))} |" for line in rest]
        parts += ["\n".join([*head, *body]), f"({TRIALS_LEGEND}.)"]
    return "\n\n".join(part for part in parts if part)


def _escaped(text: str) -> str:
    """Keeps an error's words from being read as Markdown."""
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)


def renewed(page: str, root: Path) -> str:
    """Returns a page of the documentation with the tables between its markers made anew.

    Args:
        page: The page's text, with `<!-- results: PATH -->` before and `<!-- end -->` behind each place.
        root: The folder that the paths are relative to.
    """

    def made(place: re.Match[str]) -> str:
        path = root / place[2]
        text = as_markdown(results.read([path])) if path.exists() else "Nothing has been measured yet.\n"
        return f"{place[1]}\n{text}\n{place[3]}"

    return _MARKERS.sub(made, page)
