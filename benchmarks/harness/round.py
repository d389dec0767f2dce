# SPDX-License-Identifier: Apache-2.0
"""A round: what is measured together, and its result."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engines.hop import Hop
from harness.recovery import recover
from harness.stage import PATIENCE_S, Stage
from harness.sustained import highest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from engines.engine import Engine
    from workloads.records import Load
    from workloads.workload import Workload

    from headrace.local import Broker

# As many requests as the broker gets with an engine in between, at the usual rate.
BROKER_RATE = 2000
BROKER_WARM_UP_S = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """What is measured together."""

    name: str = ""
    """Of its file, where each round has one."""
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


def warm_broker(plan: Round, broker: Broker, folder: Path, say: Callable[[str], None]) -> None:
    """Loads the broker until its own code is compiled: otherwise the engine that is started first pays for it."""
    load = replace(plan.loads[0], rate=BROKER_RATE)
    alone = replace(plan, engines=[Hop()], loads=[load])
    with ExitStack() as stack:
        stage = Stage(alone, broker, folder, say)
        stage.open(stack)
        say(f"broker: warm-up of {BROKER_WARM_UP_S} s")
        stage.window(stage.contestants[0], load, BROKER_WARM_UP_S, PATIENCE_S, keep=False)


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
