# SPDX-License-Identifier: Apache-2.0
"""The demo behind `make demo`: one PySpark program, first in micro-batch, then in real-time mode, side by side.

::

    generator ──► Kafka ──► score.py, run by `headrace run` ──► Kafka ──► receiver
    (open loop)             (Spark; only the trigger differs)             (clocks each score)

All of them are processes of their own, with a broker of their own, in a temporary folder. Nothing of it stays.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from display import shown, side_by_side
from failure import DemoError
from phase import Phase, Progress, Stage
from phase import run as run_phase
from rich.console import Console
from transactions import make_plan

from headrace import HeadraceError
from headrace.local import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_INTERRUPTED = 130
# When half of all transactions are later than this, it is not the jitter of a busy machine.
_LATE_MS = 20


def main() -> int:
    """Runs the demo and returns its exit code."""
    args = _parse_arguments()
    console = Console(highlight=False, soft_wrap=True)
    for number in _SIGNALS:
        signal.signal(number, _interrupt)
    try:
        _run(args, console)
    except KeyboardInterrupt:
        console.print("Stopped; nothing was left behind.")
        return _INTERRUPTED
    except (DemoError, HeadraceError) as error:
        # The process ends here: the sentence is for its user, a traceback would bury it.
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


def _run(args: argparse.Namespace, console: Console) -> None:
    phases = (
        Phase(name="micro-batch", trigger="processingTime=0 seconds"),
        Phase(name="real-time", trigger=f"realTime={_duration(args.epoch)}"),
    )
    console.print(
        f"[bold]Headrace demo[/bold]: {args.rate:,} card transactions per second, Kafka -> PySpark -> Kafka.\n"
        "`headrace run` runs the same program twice, on the same transactions; only its trigger differs.\n"
        "Latency: from the time when a transaction was due to be sent until a consumer has its score.\n"
    )
    with _folder() as folder, Broker() as broker:
        stage = Stage(
            bootstrap=broker.bootstrap,
            folder=folder,
            plan=make_plan(rate=args.rate, length=timedelta(seconds=args.warmup + args.seconds)),
            warmup=timedelta(seconds=args.warmup),
            measured=timedelta(seconds=args.seconds),
        )
        with shown(phases, console) as show:
            outcomes = [run_phase(phase, stage, show) for phase in phases]
    _conclude(args, outcomes, console)


def _conclude(args: argparse.Namespace, outcomes: list[Progress], console: Console) -> None:
    console.print()
    console.print(side_by_side(outcomes))
    console.print(
        f"\nMeasured for {args.seconds} s each, after {args.warmup} s of warm-up. Generator, broker, Spark and "
        "consumer share this machine."
    )
    if args.epoch > args.warmup + args.seconds:
        console.print(
            f"An epoch lasts {_duration(args.epoch)}, so none ended meanwhile; --epoch 5 shows what such an end costs."
        )
    for outcome in outcomes:
        if outcome.lateness_ms[0] > _LATE_MS:
            console.print(
                f"[yellow]The generator could not keep up with {args.rate:,} per second ({outcome.phase.name}): the "
                "latencies include its own delay. Try a lower --rate.[/yellow]"
            )
    console.print("\nTry next: [bold].venv/bin/headrace run YOUR_APP.py[/bold], unchanged, with trigger(realTime=...)")


@contextmanager
def _folder() -> Iterator[Path]:
    """Yields a temporary folder; when the demo fails, its logs stay and are named."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-demo-"))
    try:
        yield folder
    except DemoError:
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
        for log in sorted(folder.iterdir()):
            print(f"demo: what the scoring program printed is in {log}", file=sys.stderr)
        raise
    except BaseException:
        shutil.rmtree(folder)
        raise
    else:
        shutil.rmtree(folder)


def _duration(seconds: int) -> str:
    count, unit = (seconds // 60, "minute") if seconds % 60 == 0 else (seconds, "second")
    return f"{count} {unit}{'' if count == 1 else 's'}"


def _interrupt(number: int, frame: object) -> None:  # noqa: ARG001 the signature of a signal handler
    """Turns the first signal into an orderly end; during that, more of them must not break it off."""
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="demo", description="Card fraud, in micro-batch and in real-time mode.")
    parser.add_argument("--seconds", type=_positive, default=20, help="how long to measure each mode (default 20)")
    parser.add_argument("--warmup", type=_positive, default=60, help="how long to warm up each mode (default 60)")
    parser.add_argument("--rate", type=_positive, default=1000, help="transactions per second (default 1000)")
    parser.add_argument("--epoch", type=_positive, default=300, help="seconds of a real-time epoch (default 300)")
    return parser.parse_args()


def _positive(text: str) -> int:
    number = int(text)
    if number <= 0:
        raise ValueError(text)
    return number


if __name__ == "__main__":
    sys.exit(main())
