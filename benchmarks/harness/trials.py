# SPDX-License-Identifier: Apache-2.0
"""What engines were put to beside the windows: the highest rate, and kill -9."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.wording import NOTHING, figure

if TYPE_CHECKING:
    from harness.findings import Case, Cell, Findings

TRIALS = ("engine", "highest rate /s", "its p99 ms", "limited by", "first answer s", "caught up s", "replayed", "lost")
TRIALS_LEGEND = (
    "highest rate: p99 stayed below its bound for a minute; first answer, caught up: seconds after kill -9; "
    "replayed: answers that came twice; lost: records without an answer"
)


def trials(findings: Findings, case: Case) -> list[tuple[str, ...]]:
    """Returns a row for each engine of a case that was put to a trial, in the order of TRIALS.

    An engine is tried once for all loads that it was measured under without a restart; the first of them tells of it.
    """
    told: list[tuple[object, ...]] = []
    rows = []
    for cell in findings.cells:
        trial = (cell.case.workload, cell.engine, cell.highest, cell.recovery)
        if not (cell.highest or cell.recovery) or trial in told:
            continue
        told.append(trial)
        if cell.case == case:
            rows.append(_row(cell))
    return rows


def _row(cell: Cell) -> tuple[str, ...]:
    highest, recovery = cell.highest, cell.recovery
    counts = (recovery.get("replayed"), recovery.get("lost"))
    return (
        cell.title,
        f"{highest['rate']:,}" if highest.get("rate") else NOTHING,
        figure(highest.get("p99")),
        str(highest.get("limit") or NOTHING),
        figure(recovery.get("first_answer_s")),
        figure(recovery.get("caught_up_s")),
        *(NOTHING if count is None else f"{count:,}" for count in counts),
    )
