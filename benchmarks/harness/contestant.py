# SPDX-License-Identifier: Apache-2.0
"""One engine in a round: its process, its ledger, its results."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.histogram import POINTS
from harness.ledger import Ledger
from harness.pool import summary

if TYPE_CHECKING:
    from engines.engine import Engine, Job
    from harness.generator import Lateness
    from harness.ledger import Measured
    from harness.running import Running
    from workloads.records import Load
    from workloads.workload import Workload

# A share of all processors; more than this in other hands, and the tail is theirs.
MOST_FOREIGN_CPU = 0.10
# A latency counts from the intended time; a generator that was late itself has spoilt the tail.
MOST_LATENESS_P99_MS = 10.0
MOST_LATENESS_SHARE = 0.25


@dataclass(slots=True)
class Contestant:
    """An engine that takes part in a round, or the reason why it does not."""

    engine: Engine
    job: Job
    workload: Workload
    running: Running | None = None
    why_not: str = ""
    ledger: Ledger = field(init=False)
    windows: dict[Load, list[dict[str, Any]]] = field(default_factory=dict)
    completed: set[Load] = field(default_factory=set)
    """Loads with all their windows: what it cannot do later does not take them away."""
    findings: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Opens the ledger."""
        self.ledger = Ledger(self.workload)

    def enter(self, measured: Measured, lateness: Lateness, cpu: dict[str, float], *, keep: bool) -> dict[str, Any]:
        """Returns the result of a window, and keeps it if it counts."""
        sent = measured.sent
        start, end = sent.start_s, sent.due_s(sent.first + sent.count - sent.behind)
        points = {point: round(value, 3) for point, value in measured.histogram.percentiles_ms().items()}
        spoilt = _spoilt(lateness, cpu, points["p99"])
        window = {
            "start": round(start, 3),
            "records": measured.records,
            "behind": measured.behind,
            "duplicates": measured.duplicates,
            **points,
            "generator_late_ms": {"p99": round(lateness.p99, 2), "max": round(lateness.highest, 2)},
            **cpu,
            "usable": not spoilt,
            "spoilt": spoilt,
            "commits": [round(at - start, 2) for at in self.engine.commits(self.job) if start <= at <= end],
            "series": measured.series,
            "histogram": measured.histogram.encoded(),
        }
        if keep:
            self.windows.setdefault(measured.sent.load, []).append(window)
        return window

    def cell(self, load: Load) -> dict[str, Any]:
        """Returns what the result file says of this engine under a load."""
        windows = self.windows.get(load, [])
        usable = [window for window in windows if window["usable"]]
        verdict, why = "measured", ""
        if self.why_not and load not in self.completed:
            verdict, why = "cannot", f"after {len(windows)} windows: {self.why_not}" if windows else self.why_not
        elif len(usable) < math.ceil(len(windows) / 2):
            verdict, why = "unusable", f"{len(windows) - len(usable)} of {len(windows)} windows were spoilt"
        of = usable or windows
        return {
            "workload": self.job.workload,
            "engine": self.engine.name,
            "title": self.engine.title,
            "rate": load.rate,
            "size": load.size,
            "keys": load.keys,
            "partitions": self.job.partitions,
            "checkpoint_ms": self.job.checkpoint_ms,
            "verdict": verdict,
            "why": why,
            "slots": self.engine.slots(self.job),
            "versions": self.engine.versions() if windows else {},
            "settings": self.engine.settings(self.job),
            **(summary(of, POINTS) if of else {"median": {}, "spread": {}, "cpu_s_per_million": None}),
            **self.findings,
            "windows": windows,
        }


def _spoilt(lateness: Lateness, cpu: dict[str, float], p99: float) -> str:
    if cpu["foreign_cpu"] > MOST_FOREIGN_CPU:
        return f"{cpu['foreign_cpu']:.0%} of the machine in other hands"
    # Beside an engine that takes all there is, a generator gets no processor either: that is no excuse for the engine.
    if MOST_LATENESS_P99_MS < lateness.p99 > p99 * MOST_LATENESS_SHARE:
        return f"the generator was late by {lateness.p99:.0f} ms at p99"
    return ""
