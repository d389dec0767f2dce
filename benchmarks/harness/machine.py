# SPDX-License-Identifier: Apache-2.0
"""The machine under the measurement: what it is, and who uses its processors meanwhile."""

from __future__ import annotations

import platform
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from headrace.engine import java

if TYPE_CHECKING:
    from collections.abc import Sequence


def description() -> dict[str, str | int]:
    """Returns what a reader of a result needs to know of this machine."""
    return {
        "cpus": psutil.cpu_count() or 0,
        "model": _model(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30),
        "system": platform.platform(),
        "python": platform.python_version(),
        "java": _java(),
    }


def commit() -> str:
    """Returns the commit that is measured, with a plus sign if the tree differs from it; empty outside of git."""
    git = shutil.which("git")
    if git is None:
        return ""
    words = [git, "describe", "--always", "--dirty=+", "--exclude=*"]
    told = subprocess.run(words, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return told.stdout.strip()


def _model() -> str:
    for line in _lines(Path("/proc/cpuinfo")):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def _java() -> str:
    told = subprocess.run([str(java.find_java()), "-version"], capture_output=True, text=True, check=True)
    return told.stderr.splitlines()[0]


def cpu_s(pid: int) -> float:
    """Returns the processor time of a process and all that came from it, the ended ones as far as they are known."""
    try:
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0.0
    total = 0.0
    for process in family:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


@dataclass(frozen=True, slots=True)
class Reading:
    """The clocks of the machine and of the measured processes at one moment."""

    at: float
    idle_s: float
    stolen_s: float
    family_s: float
    engine_s: float
    engines_s: float
    load_s: float

    @classmethod
    def now(cls, engine: int | None, engines: Sequence[int], load: Sequence[int] = ()) -> Reading:
        """Reads them; the engine is the one under load, the engines are all, load are generator and receiver."""
        times = psutil.cpu_times()
        return cls(
            time.monotonic(),
            # Of the machine's clocks only those of idle time are exact. The others count ticks, and who sleeps for a
            # millisecond at a time is there at each of them: a third of this machine was "busy" with nothing at all.
            times.idle + getattr(times, "iowait", 0.0),
            # Only Linux, in a virtual machine, knows.
            getattr(times, "steal", 0.0),
            cpu_s(psutil.Process().pid),
            cpu_s(engine) if engine else 0.0,
            sum(cpu_s(pid) for pid in engines),
            sum(cpu_s(pid) for pid in load),
        )

    def until(self, then: Reading) -> dict[str, float]:
        """Returns who used how much between two readings; shares are of all processors."""
        capacity = (then.at - self.at) * (psutil.cpu_count() or 1)
        engine = then.engine_s - self.engine_s
        engines = then.engines_s - self.engines_s
        family = then.family_s - self.family_s
        # With it what the hypervisor gave to others: it is lost to us just as what other processes took.
        foreign = max(0.0, capacity - (then.idle_s - self.idle_s) - family)
        return {
            "engine_cpu_s": round(engine, 2),
            "harness_cpu_s": round(family - engines, 2),
            "load_cpu_s": round(then.load_s - self.load_s, 2),
            "parked_cpu": round((engines - engine) / capacity, 3),
            "foreign_cpu": round(foreign / capacity, 3),
            # Of it. The host stops a processor for tens of milliseconds at a time: one percent of this decides a p99.
            "stolen_cpu": round((then.stolen_s - self.stolen_s) / capacity, 4),
        }
