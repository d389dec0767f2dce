# SPDX-License-Identifier: Apache-2.0
"""What result files say, as the report reads it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.pool import CASE, pooled
from harness.ranking import rankings as rankings_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

FORMAT = 1
POINTS = ("p50", "p90", "p99", "p99.9", "max")
"""What is said of a distribution, in milliseconds."""
MEASURED = "measured"
UNUSABLE = "unusable"
CANNOT = "cannot"
HEADRACE = "headrace"
"""The engine that the others are compared with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """What was asked of all engines alike."""

    workload: str
    rate: int
    size: int
    keys: int
    partitions: int
    checkpoint_ms: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """One stretch of load on one engine.

    Attributes:
        said: The window as the file has it.
        histogram: All latencies, as an encoded HDR histogram of microseconds.
        series: Seconds since the start and the highest latency in ms of what was due in the step that begins there.
        commits: When progress was made durable, in seconds since the start.
        usable: Whether it counts.
    """

    said: Mapping[str, Any]
    histogram: str
    series: tuple[tuple[float, float], ...]
    commits: tuple[float, ...]
    usable: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One engine in one case."""

    case: Case
    engine: str
    title: str
    verdict: str
    why: str
    slots: int | None
    windows: tuple[Window, ...]
    window_s: float
    median: Mapping[str, float]
    spread: Mapping[str, tuple[float, float]]
    cpu_s_per_million: float | None
    versions: Mapping[str, str]
    settings: Mapping[str, str]
    highest: Mapping[str, Any]
    recovery: Mapping[str, Any]

    @property
    def usable(self) -> tuple[Window, ...]:
        """The windows that count."""
        return tuple(window for window in self.windows if window.usable)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranking:
    """Two engines in one case, the faster one first.

    Attributes:
        case: The case.
        point: The percentile that was compared.
        faster: An engine's name.
        slower: Another one's.
        ratio: How many times longer the slower one takes.
        certain: Whether another run would say the same.
    """

    case: Case
    point: str
    faster: str
    slower: str
    ratio: float
    certain: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Findings:
    """One run, or several laid over each other.

    Attributes:
        runs: Each run's time, commit, command and machine, in the order of time.
        cells: What was measured.
        rankings: Who was faster.
    """

    runs: tuple[Mapping[str, Any], ...]
    cells: tuple[Cell, ...]
    rankings: tuple[Ranking, ...]

    def cases(self) -> list[Case]:
        """Returns the cases in the order of the file."""
        return list(dict.fromkeys(cell.case for cell in self.cells))

    def workloads(self) -> list[str]:
        """Returns the workloads in the order of the file."""
        return list(dict.fromkeys(cell.case.workload for cell in self.cells))

    def of_case(self, case: Case) -> list[Cell]:
        """Returns a case's cells, the lowest p99 first; behind them what is unusable, then what cannot run."""
        cells = [cell for cell in self.cells if cell.case == case]
        verdicts = (MEASURED, UNUSABLE, CANNOT)
        return sorted(cells, key=lambda cell: (verdicts.index(cell.verdict), cell.median.get("p99", 0)))

    def base(self, workload: str) -> Case:
        """Returns the case of a workload in which most engines ran; the others differ from it in one axis."""
        cases = [case for case in self.cases() if case.workload == workload]
        return max(cases, key=lambda case: sum(cell.case == case for cell in self.cells))

    def titles(self) -> dict[str, str]:
        """Returns what engines call themselves, by name."""
        return {cell.engine: cell.title for cell in self.cells}


class UnreadableError(Exception):
    """A file is not a result that this program can read."""


def read(paths: Iterable[Path]) -> Findings:
    """Reads result files, and folders whose files are one run; what two runs measured counts as in the newer one.

    Raises:
        UnreadableError: One of them is not a result file of the known format.
    """
    files = [_load_run(path) if path.is_dir() else _load(path) for path in paths]
    return _overlay(sorted(files, key=lambda said: str(said["when"])))


def of_json(said: Mapping[str, Any]) -> Findings:
    """Returns what one result file says."""
    return _overlay([said])


def _load_run(folder: Path) -> dict[str, Any]:
    files = sorted((_load(path) for path in folder.glob("*.json")), key=lambda said: str(said["when"]))
    if not files:
        message = f"{folder} holds no result file"
        raise UnreadableError(message)
    return {**files[0], "cells": [cell for said in files for cell in said["cells"]], "runs": _heads(files)}


def _heads(files: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns where results come from; of files from one machine and one commit, the first says it for all."""
    heads = [{name: said.get(name) for name in ("when", "commit", "command", "machine")} for said in files]
    return list({json.dumps([head["commit"], head["machine"]]): head for head in reversed(heads)}.values())[::-1]


def _load(path: Path) -> dict[str, Any]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as cause:
        message = f"{path} cannot be read as JSON: {cause}"
        raise UnreadableError(message) from cause
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        message = f"{path} is not a result file of format {FORMAT}"
        raise UnreadableError(message)
    return said


def _overlay(files: list[Mapping[str, Any]]) -> Findings:
    cells: dict[tuple[Case, str], Cell] = {}
    rankings: dict[tuple[object, ...], Ranking] = {}
    for said in files:
        made_one = pooled(said["cells"])
        cells.update({(cell.case, cell.engine): cell for cell in map(_cell, made_one)})
        # Made anew of the windows: what one round of a run was sure of, the whole run need not be.
        for one in _rankings(made_one):
            rankings[one.case, one.point, *sorted((one.faster, one.slower))] = one
    runs = tuple(head for said in files for head in said.get("runs") or _heads([said]))
    return Findings(runs=runs, cells=tuple(cells.values()), rankings=tuple(rankings.values()))


def _rankings(cells: Iterable[dict[str, Any]]) -> Iterator[Ranking]:
    by_case: dict[Case, list[dict[str, Any]]] = {}
    for cell in cells:
        by_case.setdefault(_case(cell), []).append(cell)
    for case, group in by_case.items():
        for said in rankings_of(group):
            names = ("point", "faster", "slower", "ratio", "certain")
            yield Ranking(case=case, **{name: said[name] for name in names})


def _case(said: Mapping[str, Any]) -> Case:
    return Case(**{name: said[name] for name in CASE})


def _cell(said: Mapping[str, Any]) -> Cell:
    return Cell(
        case=_case(said),
        engine=said["engine"],
        title=said["title"],
        verdict=said["verdict"],
        why=said.get("why") or "",
        slots=said.get("slots"),
        windows=tuple(map(_window, said.get("windows") or ())),
        window_s=said["window_s"],
        median=said.get("median") or {},
        spread={point: (ends[0], ends[1]) for point, ends in (said.get("spread") or {}).items()},
        cpu_s_per_million=said.get("cpu_s_per_million"),
        versions=said.get("versions") or {},
        settings=said.get("settings") or {},
        highest=said.get("highest") or {},
        recovery=said.get("recovery") or {},
    )


def _window(said: Mapping[str, Any]) -> Window:
    return Window(
        said=said,
        histogram=said["histogram"],
        series=tuple((at, highest) for at, highest in said["series"]),
        commits=tuple(said["commits"]),
        usable=said["usable"],
    )
