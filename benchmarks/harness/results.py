# SPDX-License-Identifier: Apache-2.0
"""The result of a run: one JSON file that says everything needed to judge and to repeat it."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

from harness import machine
from harness.findings import FORMAT
from harness.pool import pooled
from harness.ranking import rankings

if TYPE_CHECKING:
    from pathlib import Path

NAME = "result.json"


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
        path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
        return path
