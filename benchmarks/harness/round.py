# SPDX-License-Identifier: Apache-2.0
"""A round: what is measured together, and its result."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.recovery import recover
from harness.stage import Stage
from harness.sustained import highest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from engines.engine import Engine
    from workloads.records import Load
    from workloads.workload import Workload

    from headrace.local import Broker


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """What is measured together."""

    workload: Workload
    engines: list[Engine]
    loads: list[Load]
    checkpoint_ms: int = 5000
    partitions: int = 2
    window_s: float
    warm_up_s: float
    windows: int
    highest: bool = False
    """Whether to search for the highest rate that each engine sustains."""
    recovery: bool = False
    """Whether to kill each engine under load."""
    lock: Path | None = None
    """Held while an engine is awake; who else needs the machine can have it between two windows."""


def measure(plan: Round, broker: Broker, folder: Path, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Runs a round and returns the cells of its result."""
    with ExitStack() as stack:
        stage = Stage(plan, broker, folder, say)
        stage.open(stack)
        stage.warm_up()
        for load in plan.loads:
            stage.measure(load)
        if plan.highest:
            stage.each("highest", highest)
        if plan.recovery:
            stage.each("recovery", recover)
        return [
            {**contestant.cell(load), "window_s": plan.window_s, "warm_up_s": plan.warm_up_s}
            for load in plan.loads
            for contestant in stage.contestants
        ]
