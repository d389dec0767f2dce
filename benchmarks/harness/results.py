# SPDX-License-Identifier: Apache-2.0
"""The result of a run: one JSON file that says everything needed to judge and to repeat it."""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import TYPE_CHECKING, Any

from harness import machine
from harness.findings import FORMAT
from harness.pool import pooled
from harness.ranking import rankings

if TYPE_CHECKING:
    from pathlib import Path

NAME = "result.json"
# Stands for a window until the rest is indented; nothing that an engine says of itself begins so.
MARK = "@window "


class Result:
    """Grows round by round; written after each, so that an interrupted run keeps what it has."""

    def __init__(self, command: str) -> None:
        """Notes when, where and how the run was started."""
        self._head = {
            "format": FORMAT,
            "when": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "commit": machine.commit(),
            "command": command,
            "machine": machine.description(),
        }
        self._cells: list[dict[str, Any]] = []

    def add(self, cells: list[dict[str, Any]]) -> None:
        """Adds what a round has measured."""
        self._cells += cells

    def write(self, folder: Path, name: str = NAME) -> Path:
        """Writes the file."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        whole = {**self._head, "cells": self._cells, "rankings": rankings(pooled(self._cells))}
        path.write_text(paged(whole), encoding="utf-8")
        return path


def paged(whole: dict[str, Any]) -> str:
    """Returns JSON to page through: indented, but each window on a line of its own, for it is thousands of numbers."""
    windows: list[dict[str, Any]] = []
    cells = []
    for cell in whole["cells"]:
        first = len(windows)
        windows += cell["windows"]
        cells.append({**cell, "windows": [f"{MARK}{number}" for number in range(first, len(windows))]})
    text = json.dumps({**whole, "cells": cells}, indent=1) + "\n"
    return re.sub(f'"{MARK}([0-9]+)"', lambda found: json.dumps(windows[int(found[1])]), text)
