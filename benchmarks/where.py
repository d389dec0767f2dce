# SPDX-License-Identifier: Apache-2.0
"""Where the time goes: the path of an ordinary record, the parts of the boundary gap, and the processor's time.

One engine runs one workload at a time, with Spark's event log on. Times are those of one window; a second one, under
Java's flight recorder, only tells how the processor time of a thread is divided.
What is already in the result file stays, except what is measured again.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import shutil
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from breakdown import boundary, event_log, path, places
from breakdown.profile import Recording, Threads, find_jvm
from breakdown.show import show
from breakdown.tracing import TRACED
from breakdown.tracing import event_log as event_log_of
from harness import machine
from harness.round import Round
from harness.stage import PATIENCE_S, Stage
from workloads.catalog import WORKLOADS
from workloads.records import Load

from headrace.local import Broker

if TYPE_CHECKING:
    from harness.contestant import Contestant

OUT = Path(__file__).parent / "results" / "where.json"
# About 1,000, and prime: so that records are due at every fraction of the broker's milliseconds.
RATE = 997
CHECKPOINT_MS = 5000
KEPT_OF_A_WINDOW = ("p50", "p99", "max", "foreign_cpu", "usable")


@dataclass(frozen=True, slots=True)
class Spent:
    """Processor time during a window, in seconds."""

    engine_s: float
    broker_s: float
    threads: Threads


def main() -> int:
    """Measures what the arguments name, one after the other, and prints all that is in the result file."""
    arguments = _arguments()
    for workload in arguments.workload:
        for engine in arguments.engine:
            _say(f"{workload}, {engine}")
            _keep(arguments.out, _cell(arguments, workload, engine))
    show(json.loads(arguments.out.read_text(encoding="utf-8")))
    return 0


def _arguments() -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = made.add_argument
    add("--workload", nargs="*", choices=WORKLOADS, default=("stateless", "count"), metavar="NAME")
    add("--engine", nargs="*", choices=TRACED, default=("headrace", "stock"), metavar="NAME", help=", ".join(TRACED))
    add("--window", type=float, default=35, metavar="SECONDS", help="window for path and boundaries (35)")
    add("--profile", type=float, default=15, metavar="SECONDS", help="window for the profile (15)")
    add("--warm-up", type=float, default=55, metavar="SECONDS", help="load that is cut off (55)")
    add("--keep", type=Path, metavar="DIR", help="keeps event logs and flight recordings there")
    add("--out", type=Path, default=OUT, metavar="FILE", help="the result file")
    return made.parse_args()


def _cell(arguments: argparse.Namespace, workload: str, engine: str) -> dict[str, Any]:
    plan = Round(
        workload=WORKLOADS[workload],
        engines=[TRACED[engine]()],
        loads=[Load(rate=RATE)],
        checkpoint_ms=CHECKPOINT_MS,
        window_s=arguments.window,
        warm_up_s=arguments.warm_up,
        windows=1,
    )
    folder = Path(tempfile.mkdtemp(prefix="headrace-where-"))
    try:
        with Broker(settings=path.APPEND_TIMES) as broker:
            return _look(plan, broker, folder, arguments.profile)
    finally:
        if arguments.keep:
            _save(folder, arguments.keep)
        shutil.rmtree(folder, ignore_errors=True)


def _save(folder: Path, keep: Path) -> None:
    keep.mkdir(parents=True, exist_ok=True)
    for job in folder.iterdir():
        for file in (*job.glob("*.jfr"), *job.glob("events/*")):
            shutil.copy(file, keep / f"{job.name}-{file.name}")


def _look(plan: Round, broker: Broker, folder: Path, profile_s: float) -> dict[str, Any]:
    stage = Stage(plan, broker, folder, _say)
    [contestant] = stage.contestants
    found: dict[str, Any] = {}
    receipts: list[tuple[float, float]] = []
    with ExitStack() as stack:
        stage.open(stack)
        stage.warm_up()
        if not contestant.why_not:
            with stage.drops(contestant), stage.awake(contestant):
                found, spent = _window(stage, contestant, broker)
                receipts = list(contestant.ledger.receipts)
                found["path"] = path.split(contestant.job, receipts)
                found["processor"] = _processor(_samples(stage, contestant, profile_s), spent, plan)
    if found:
        epochs = event_log.read(event_log_of(contestant.job))
        found["boundary"] = boundary.summary(boundary.gaps(epochs, receipts))
    return {**_head(plan, contestant), **found}


def _window(stage: Stage, contestant: Contestant, broker: Broker) -> tuple[dict[str, Any], Spent]:
    assert contestant.running is not None
    assert broker.pid is not None
    families = (contestant.running.pid, broker.pid)
    with Threads(find_jvm(contestant.running.pid)) as threads:
        before = [machine.cpu_s(pid) for pid in families]
        window = stage.window(contestant, stage.plan.loads[0], stage.plan.window_s, PATIENCE_S, keep=True)
        engine_s, broker_s = (machine.cpu_s(pid) - once for pid, once in zip(families, before, strict=True))
    return {name: window[name] for name in KEPT_OF_A_WINDOW}, Spent(engine_s, broker_s, threads)


def _samples(stage: Stage, contestant: Contestant, seconds: float) -> list[tuple[str, list[str]]]:
    assert contestant.running is not None
    with Recording(find_jvm(contestant.running.pid), contestant.job.folder / "where.jfr") as recording:
        stage.window(contestant, stage.plan.loads[0], seconds, PATIENCE_S, keep=False)
    return recording.samples()


def _processor(samples: list[tuple[str, list[str]]], spent: Spent, plan: Round) -> dict[str, Any]:
    """Returns microseconds of processor time for each record, by place."""
    threads = spent.threads
    by_place = {
        **places.costs(threads.by_name, samples),
        places.ENDED: threads.process_s - sum(threads.by_name.values()),
        places.FORKS: threads.forks_s,
        places.PYTHON: spent.engine_s - threads.process_s - threads.forks_s,
        places.BROKER: spent.broker_s,
    }
    to_us = 1e6 / (plan.loads[0].rate * plan.window_s)
    largest_first = sorted(by_place.items(), key=lambda item: -item[1])
    return {
        "samples": len(samples),
        "engine_us": round(spent.engine_s * to_us, 1),
        "us_per_record": {place: round(seconds * to_us, 1) for place, seconds in largest_first if seconds > 0},
    }


def _head(plan: Round, contestant: Contestant) -> dict[str, Any]:
    return {
        "workload": plan.workload.name,
        "engine": contestant.engine.name,
        "title": contestant.engine.title,
        "rate": plan.loads[0].rate,
        "partitions": plan.partitions,
        "checkpoint_ms": plan.checkpoint_ms,
        "window_s": plan.window_s,
        "warm_up_s": plan.warm_up_s,
        "when": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": machine.commit(),
        "versions": contestant.engine.versions(),
        "verdict": "cannot" if contestant.why_not else "measured",
        "why": contestant.why_not,
    }


def _keep(out: Path, cell: dict[str, Any]) -> None:
    cells = json.loads(out.read_text(encoding="utf-8"))["cells"] if out.exists() else []
    this = (cell["workload"], cell["engine"])
    cells = [each for each in cells if (each["workload"], each["engine"]) != this]
    cells.append(cell)
    out.parent.mkdir(parents=True, exist_ok=True)
    whole = {"format": 1, "machine": machine.description(), "cells": cells}
    out.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
