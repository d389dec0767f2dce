# SPDX-License-Identifier: Apache-2.0
"""Measures latency: every engine on the same broker, topics, partitions and checkpoint interval, in the same run.

Without arguments: Headrace and three rivals on two workloads, in at most 15 minutes on two cores. The result is
written as JSON with a report beside it. With --app: your own application, in micro-batch and in real-time mode.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.compare import compare
from app.trial import Plan
from axes import all_rounds
from engines.roster import ENGINES
from harness.findings import read
from harness.report import write
from harness.results import NAME, Result
from harness.round import Round, measure, warm_broker
from harness.table import show
from workloads.catalog import WORKLOADS
from workloads.records import Load

from headrace.local import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORT_WORKLOADS = ("stateless", "count")
INTERRUPTED = 130
TERMINATED = 143
SHORT_ENGINES = ("hop", "headrace", "stock", "micro-batch", "flink")


def main() -> int:
    """Measures what the arguments name, prints the table and writes the result."""
    arguments = parser().parse_args()
    # So that nothing is left behind: the blocks below end their processes and remove their folders.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    if arguments.list:
        _list()
        return 0
    command = "headrace bench " + shlex.join(sys.argv[1:])
    if arguments.app:
        return _compare(arguments, command)
    try:
        path = _measure_all(arguments, command) if arguments.all is not None else _measure(arguments, command)
    except KeyboardInterrupt:
        _say("interrupted; finished rounds are kept")
        return INTERRUPTED
    findings = read([path])
    show(findings)
    print(f"report: {write(findings, arguments.out)}")
    return 0


def _measure(arguments: argparse.Namespace, command: str) -> Path:
    """Measures what was asked for, into one file that grows from round to round."""
    rounds = _rounds(arguments)
    result = Result(command=command)
    path: Path = arguments.out / NAME
    for cells in _run(rounds):
        result.add(cells)
        path = result.write(arguments.out)
    return path


def _measure_all(arguments: argparse.Namespace, command: str) -> Path:
    """Measures each round into a file of its own, unless it is there already: the next call goes on where one ended."""
    # Apart from what other calls write there: all that is in it is read as one run.
    folder: Path = arguments.out / "all"
    rounds = {plan.name: plan for plan in all_rounds(_rounds(arguments)[0])}
    if unknown := [name for name in arguments.all if name not in rounds]:
        parser().error(f"no round of --all is called {unknown[0]}; `headrace bench --list` names them")
    asked = [rounds[name] for name in arguments.all] or list(rounds.values())
    left = [plan for plan in asked if not (folder / f"{plan.name}.json").exists()]
    _say(f"{len(asked) - len(left)} of {len(asked)} rounds are there already")
    for plan, cells in zip(left, _run(left), strict=True):
        result = Result(command=command)
        result.add(cells)
        result.write(folder, f"{plan.name}.json")
    return folder


def _run(rounds: list[Round]) -> Iterator[list[dict[str, Any]]]:
    """Measures rounds on one broker."""
    if not rounds:
        return
    folder = Path(tempfile.mkdtemp(prefix="headrace-bench-"))
    try:
        with Broker() as broker:
            warm_broker(rounds[0], broker, folder, _say)
            for number, plan in enumerate(rounds, 1):
                _say(f"round {number} of {len(rounds)}: {plan.workload.name}: {plan.workload.title}")
                yield measure(plan, broker, folder, _say)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="headrace bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = made.add_argument
    add("--workload", nargs="+", choices=WORKLOADS, default=SHORT_WORKLOADS, metavar="NAME", help="see --list")
    add("--engine", nargs="+", choices=ENGINES, default=SHORT_ENGINES, metavar="NAME", help="see --list")
    add("--rate", nargs="+", type=int, default=[1000], metavar="N", help="records per second (1000)")
    add("--size", nargs="+", type=int, default=[100], metavar="BYTES", help="bytes of a record's value (100)")
    add("--keys", nargs="+", type=int, default=[1000], metavar="N", help="distinct keys (1000)")
    add("--checkpoint", nargs="+", type=_milliseconds, default=[5000], metavar="TIME", help="interval (5s)")
    add("--partitions", type=int, default=2, metavar="N", help="partitions of each topic (2)")
    add("--windows", type=int, default=3, metavar="N", help="measured windows of each engine (3)")
    add("--window", type=float, default=10, metavar="SECONDS", help="length of a window (10)")
    add("--warm-up", type=float, default=25, metavar="SECONDS", help="load on each engine that is cut off (25)")
    add("--highest", action="store_true", help="also search for the highest rate that each engine sustains")
    add("--recovery", action="store_true", help="also kill each engine under load and see how it comes back")
    all_help = "the committed table, one axis at a time, or some of its rounds; hours; goes on where it was interrupted"
    add("--all", nargs="*", metavar="ROUND", help=all_help)
    add("--out", type=Path, default=Path("bench-results"), metavar="DIR", help="where the result goes (bench-results)")
    add("--lock", type=Path, metavar="FILE", help="hold this lock (flock) while measuring, and let it go in between")
    add("--list", action="store_true", help="print workloads and engines")
    add("--patience", type=float, default=30, metavar="SECONDS", help="how long --app waits for a first input (30)")
    # All that stands behind the script's name belongs to the script, also what looks like an option of ours.
    app_help = "your own application with its arguments, in both modes; stands last, behind --warm-up, --window, --out"
    add("--app", nargs=argparse.PARSER, metavar="APP.py", help=app_help)
    return made


def _milliseconds(text: str) -> int:
    for unit, factor in {"ms": 1, "s": 1000, "min": 60_000}.items():
        number = text.removesuffix(unit).strip()
        if text.endswith(unit) and number.isdigit():
            return int(number) * factor
    message = f"{text!r} is not a time such as 500ms, 5s or 1min"
    raise argparse.ArgumentTypeError(message)


def _compare(arguments: argparse.Namespace, command: str) -> int:
    plan = Plan(
        words=arguments.app,
        warm_up_s=arguments.warm_up,
        window_s=arguments.window,
        patience_s=arguments.patience,
    )
    try:
        return compare(plan, arguments.out, command, _say)
    except KeyboardInterrupt:
        _say("interrupted")
        return INTERRUPTED


def _rounds(arguments: argparse.Namespace) -> list[Round]:
    """Engines keep running while rate and size change; other axes need a start of their own."""
    return [
        Round(
            workload=WORKLOADS[workload],
            engines=[ENGINES[name]() for name in arguments.engine],
            loads=[Load(rate=rate, size=size, keys=keys) for rate in arguments.rate for size in arguments.size],
            checkpoint_ms=checkpoint_ms,
            partitions=arguments.partitions,
            window_s=arguments.window,
            warm_up_s=arguments.warm_up,
            windows=arguments.windows,
            highest=arguments.highest,
            recovery=arguments.recovery,
            lock=arguments.lock,
        )
        for workload in arguments.workload
        for checkpoint_ms in arguments.checkpoint
        for keys in arguments.keys
    ]


def _list() -> None:
    print("workloads")
    for workload in WORKLOADS.values():
        print(f"  {workload.name:14} {workload.title}")
    print("engines")
    for name, engine in ENGINES.items():
        print(f"  {name:14} {engine().title}")
    print("rounds of --all")
    for plan in all_rounds(_rounds(parser().parse_args([]))[0]):
        print(f"  {plan.name:18} {' '.join(engine.name for engine in plan.engines)}")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
