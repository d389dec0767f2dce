# SPDX-License-Identifier: Apache-2.0
"""Findings as one web page that needs no other file and no network."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Protocol

from harness import palette
from harness.findings import MEASURED, POINTS
from harness.trials import TRIALS, TRIALS_LEGEND, trials
from harness.wording import (
    COLUMNS,
    LEGEND,
    NOTHING,
    begun,
    company,
    comparisons,
    described,
    figure,
    machines,
    rows,
    sentence,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from harness.findings import Case, Cell, Findings
    from harness.palette import Theme
    from harness.wording import Row

TITLE = "Headrace: latency, measured"
_TEMPLATE = Path(__file__).with_name("page.html")
_WINDOW_COLUMNS = {
    "records": "records",
    "duplicates": "duplicates",
    **{point: f"{point} ms" for point in POINTS},
    "engine_cpu_s": "engine CPU-s",
    "harness_cpu_s": "harness CPU-s",
    "foreign_cpu": "foreign CPU share",
    "stolen_cpu": "taken by the host",
}


class Picture(Protocol):
    """What the page needs of a plot."""

    @property
    def workload(self) -> str:
        """What it belongs to."""

    @property
    def title(self) -> str:
        """What it shows, in a few words."""

    @property
    def words(self) -> str:
        """What it shows, for someone who does not see it."""

    def svg(self, theme: Theme) -> bytes:
        """Returns it in a theme."""


def as_page(findings: Findings, pictures: Sequence[Picture]) -> str:
    """Returns the page."""
    sections = "".join(_section(findings, workload, pictures) for workload in findings.workloads())
    links = "".join(f'<li><a href="#{escape(name)}">{escape(name)}</a></li>' for name in findings.workloads())
    runs = "".join(
        f'<p class="faint">{escape(line)}<br><code>{escape(str(run["command"]))}</code></p>\n'
        for line, run in zip(machines(findings), findings.runs, strict=True)
    )
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=escape(TITLE), runs=runs, links=links, sections=sections, legend=escape(LEGEND)
    )


def _section(findings: Findings, workload: str, pictures: Iterable[Picture]) -> str:
    base = findings.base(workload)
    others = [case for case in findings.cases() if case.workload == workload and case != base]
    return "\n".join(
        [
            f'<section aria-labelledby="{escape(workload)}">',
            f'<h2 id="{escape(workload)}">{escape(workload)}</h2>',
            f"<p>{escape(begun(described(workload)))}.</p>",
            _case(findings, base),
            *(_picture(picture) for picture in pictures if picture.workload == workload),
            *(_case(findings, case) for case in others),
            "</section>",
        ]
    )


def _case(findings: Findings, case: Case) -> str:
    words = comparisons(findings, case)
    return "\n".join(
        [
            f"<h3>{escape(begun(sentence(case)))}</h3>",
            _table(f"{case.workload}, {sentence(case)}", COLUMNS, [_row(row) for row in rows(findings, case)]),
            _list("Certain", words.certain),
            _list("Too close to call", words.close),
            _folded("The others among themselves", _list("Certain", words.rest)) if words.rest else "",
            _trials(findings, case),
            f'<p class="faint">{escape(company(findings, case))}.</p>' if company(findings, case) else "",
            *(_details(cell) for cell in findings.of_case(case)),
        ]
    )


def _trials(findings: Findings, case: Case) -> str:
    lines = [
        f'<tr><th scope="row">{escape(line[0])}</th>{"".join(f"<td>{escape(text)}</td>" for text in line[1:])}</tr>'
        for line in trials(findings, case)
    ]
    return _table(TRIALS_LEGEND, TRIALS, lines) if lines else ""


def _table(caption: str, columns: Iterable[str], lines: Iterable[str]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    # A region that scrolls must be reachable by keyboard.
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _row(row: Row) -> str:
    points = "".join(
        f"<td>{escape(median)}{f'<small>{escape(spread)}</small>' if spread else ''}</td>"
        for median, spread in zip(row.medians, row.spreads, strict=True)
    )
    rest = "".join(f"<td>{escape(text)}</td>" for text in (*row.ratios, row.cpu, row.slots))
    verdict = f'<span class="alarm">{escape(row.verdict)}</span>' if row.is_flawed else escape(row.verdict)
    start = '<tr class="ours">' if row.is_ours else "<tr>"
    return f'{start}<th scope="row">{escape(row.title)}</th>{points}{rest}<td>{verdict}</td></tr>'


def _list(heading: str, lines: list[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<p><strong>{escape(heading)}</strong></p><ul>{items}</ul>" if lines else ""


def _picture(picture: Picture) -> str:
    light, dark = (
        f"data:image/svg+xml;base64,{base64.b64encode(picture.svg(theme)).decode()}"
        for theme in (palette.LIGHT, palette.DARK)
    )
    return (
        f'<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{escape(picture.words)}"></picture>'
        f"<figcaption>{escape(picture.title)}</figcaption></figure>"
    )


def _details(cell: Cell) -> str:
    """Returns what hardly anyone asks of a cell, folded up; why it cannot run is not folded."""
    parts = [_facts("Versions", cell.versions), _facts("Settings beyond the defaults", cell.settings), _windows(cell)]
    heading = "in another round" if cell.verdict == MEASURED else cell.verdict
    why = f"<p>{escape(cell.title)} {escape(heading)}:</p><pre>{escape(cell.why)}</pre>" if cell.why else ""
    return why + (_folded(f"{cell.title}: versions, settings, windows", "".join(parts)) if any(parts) else "")


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def _facts(heading: str, facts: Mapping[str, str]) -> str:
    items = "".join(f"<dt>{escape(str(name))}</dt><dd>{escape(str(fact))}</dd>" for name, fact in facts.items())
    return f"<p>{escape(heading)}</p><dl>{items}</dl>" if facts else ""


def _windows(cell: Cell) -> str:
    if not cell.windows:
        return ""
    columns = ("window", *_WINDOW_COLUMNS.values(), "generator late, p99 / max ms", "verdict")
    lines = []
    for place, window in enumerate(cell.windows, 1):
        said = window.said
        late = said.get("generator_late_ms") or {}
        texts = [
            *(
                str(said[name]) if isinstance(said.get(name), int) else figure(said.get(name))
                for name in _WINDOW_COLUMNS
            ),
            f"{figure(late.get('p99'))} / {figure(late.get('max'))}" if late else NOTHING,
            "usable" if window.usable else "unusable",
        ]
        lines.append(f'<tr><th scope="row">{place}</th>{"".join(f"<td>{escape(text)}</td>" for text in texts)}</tr>')
    return _table(f"Windows of {cell.title}", columns, lines)
