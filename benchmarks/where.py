# SPDX-License-Identifier: Apache-2.0
"""Where the time goes: the path of an ordinary record, the parts of the boundary gap, and the processor's time.

One engine runs one workload at a time, with Spark's event log on and, in a second window, under Java's flight recorder.
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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import machine
from harness.round import Round
from harness.stage import PATIENCE_S, Stage
from where_parts import boundary, event_log, path, places
from where_parts.profile import Profile, find_jvm
from where_parts.show import show
from where_parts.tracing import TRACED
from where_parts.tracing import event_log as event_log_of
from workloads.catalog import WORKLOADS
from workloads.records import Load

from headrace.local import Broker

if TYPE_CHECKING:
    from harness.contestant import Contestant

OUT = Path(__file__).parent / "results" / "where.json"
# About 1,000, and prime: so that records are due at every fraction of the broker's milliseconds.
RATE = 997
CHECKPOINT_MS = 5000


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
    add("--window", type=float, default=40, metavar="SECONDS", help="window for path and boundaries (40)")
    add("--profile", type=float, default=20, metavar="SECONDS", help="window for the profile (20)")
    add("--warm-up", type=float, default=30, metavar="SECONDS", help="load that is cut off (30)")
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
    )
    folder = Path(tempfile.mkdtemp(prefix="headrace-where-"))
    try:
        with Broker(settings=path.APPEND_TIMES) as broker:
            return _look(plan, broker, folder, arguments.profile)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _look(plan: Round, broker: Broker, folder: Path, profile_s: float) -> dict[str, Any]:
    stage = Stage(plan, broker, folder, _say)
    [contestant] = stage.contestants
    found: dict[str, Any] = {}
    receipts: list[tuple[float, float]] = []
    with ExitStack() as stack:
        stage.open(stack)
        stage.warm_up()
        if not contestant.why_not:
            with stage.drops(contestant):
                window = stage.window(contestant, plan.loads[0], plan.window_s, PATIENCE_S)
                receipts = list(contestant.ledger.receipts)
                found = {name: window[name] for name in ("p50", "p99", "max", "foreign_cpu", "usable")}
                found["path"] = path.split(contestant.job, receipts)
                found["processor"] = _processor(stage, contestant, broker, profile_s)
    if found:
        epochs = event_log.read(event_log_of(contestant.job))
        found["boundary"] = boundary.summary(boundary.gaps(epochs, receipts))
    return {**_head(plan, contestant), **found}


def _processor(stage: Stage, contestant: Contestant, broker: Broker, seconds: float) -> dict[str, Any]:
    """Returns microseconds of processor time for each record, by place."""
    assert contestant.running is not None
    assert broker.pid is not None
    families = (contestant.running.pid, broker.pid)
    with Profile(find_jvm(contestant.running.pid), contestant.job.folder / "where.jfr") as profile:
        before = [machine.cpu_s(pid) for pid in families]
        window = stage.window(contestant, stage.plan.loads[0], seconds, PATIENCE_S)
        engine, of_broker = (machine.cpu_s(pid) - once for pid, once in zip(families, before, strict=True))
    samples = profile.samples()
    by_place = places.costs(profile.threads, samples)
    by_place[places.ENDED] = profile.process_s - sum(profile.threads.values())
    by_place[places.FORKS] = profile.forks_s
    by_place[places.PYTHON] = engine - profile.process_s - profile.forks_s
    by_place["broker"] = of_broker
    records = stage.plan.loads[0].rate * seconds
    spent = sorted(by_place.items(), key=lambda item: -item[1])
    return {
        "samples": len(samples),
        "foreign_cpu": window["foreign_cpu"],
        "engine_us": round(engine / records * 1e6, 1),
        "us_per_record": {place: round(time / records * 1e6, 1) for place, time in spent if time > 0},
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
