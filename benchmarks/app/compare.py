# SPDX-License-Identifier: Apache-2.0
"""`headrace bench --app`: somebody's own application in micro-batch and in real-time mode, and the gain."""

from __future__ import annotations

import datetime as dt
import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.desk import MICRO_BATCH, REAL_TIME
from app.figures import measured
from app.trial import NoResultError, Trial
from harness import machine
from harness.histogram import POINTS
from harness.wording import NOTHING, figure, times
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.trial import Plan

NAME = "app.json"
MODES = (MICRO_BATCH, REAL_TIME)
COLUMNS = ("mode", *(f"{point} ms" for point in POINTS), "records", "CPU-s / M", "slots")
NARROWEST = 120
BEFOREHAND = (
    "runs {script} twice on your live topics. Checkpoints are fresh and temporary; results go to temporary topics that "
    "are deleted afterwards. Your checkpoint and your output topics stay as they are."
)


def compare(plan: Plan, out: Path, command: str, say: Callable[[str], None]) -> int:
    """Runs an application in both modes, prints what came of it and writes it to a file.

    Returns:
        The exit code: 0 if micro-batch mode could be measured, whatever real-time mode had to say.
    """
    say(f"headrace bench: {BEFOREHAND.format(script=plan.words[0])}")
    folder = Path(tempfile.mkdtemp(prefix="headrace-bench-"))
    try:
        outcomes = [Trial(mode, plan, _made(folder / mode), say).run() for mode in MODES]
        findings = measured(outcomes)
    except (NoResultError, HeadraceError) as error:
        say(f"headrace bench: {error}")
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    show(findings)
    whole = {
        "format": "app 1",
        "when": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": machine.commit(),
        "command": command,
        "machine": machine.description(),
        "window_s": plan.window_s,
        "warm_up_s": plan.warm_up_s,
        **findings,
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / NAME).write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    print(f"result: {out / NAME}")
    return 1 if MICRO_BATCH in findings["cannot"] else 0


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def show(findings: Mapping[str, Any], console: Console | None = None) -> None:
    """Prints a table for each query, the rule of its figures, and what could not be measured."""
    console = console or Console()
    if not console.is_terminal:
        console.width = max(console.width, NARROWEST)
    for query in findings["queries"]:
        console.print()
        console.print(_table(query))
        for note in query["notes"]:
            console.print(Padding(Text(note, style="yellow"), (0, 0, 0, 2)))
    for mode, why in findings["cannot"].items():
        console.print(Padding(Text.assemble((f"{mode}: ", "bold"), f"cannot, because {why}"), (1, 0, 0, 0)))
    for line in findings["unmeasured"]:
        console.print(Text(f"not measured: {line}", style="yellow"))
    if findings["queries"]:
        console.print(Padding(Text(f"{findings['rule']} {findings['legend']}", style="dim"), (1, 0, 0, 0)))


def _table(query: Mapping[str, Any]) -> Table:
    table = Table(title=Text(query["name"], style="bold"), title_justify="left", show_edge=False, box=None)
    for name in COLUMNS:
        table.add_column(name, justify="left" if name == COLUMNS[0] else "right", header_style="dim", no_wrap=True)
    for mode, cell in query["modes"].items():
        points = [figure(cell[point]) for point in POINTS]
        slots = NOTHING if cell["slots"] is None else str(cell["slots"])
        table.add_row(
            f"{mode} ({cell['trigger']})", *points, f"{cell['records']:,}", figure(cell["cpu_s_per_million"]), slots
        )
    if query["gain"]:
        gains = [times(query["gain"][point]) for point in POINTS]
        table.add_row(Text("gain", style="bold"), *(Text(gain, style="bold") for gain in gains), "", "", "")
    return table
