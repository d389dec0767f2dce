# SPDX-License-Identifier: Apache-2.0
"""Run a real Kafka broker on this machine."""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import TYPE_CHECKING

from headrace.errors import KafkaNotRunningError
from headrace.local import Broker
from headrace.local.registry import announce, find_broker, running_brokers, stop_broker

if TYPE_CHECKING:
    import argparse

NAME = "kafka"

_DEFAULT_PORT = 9092


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares start, stop and status."""
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    start = actions.add_parser(
        "start",
        help="run a broker until Ctrl-C",
        description="Run a broker until Ctrl-C. Prints `ready HOST:PORT` once it serves requests.",
    )
    start.add_argument("--port", type=int, default=_DEFAULT_PORT, help="default: %(default)s; 0 takes any free one")
    start.add_argument("--data", metavar="DIR", help="keep records here (default: a temporary folder)")
    start.set_defaults(action=_start)
    stop = actions.add_parser("stop", help="end a broker", description="End a broker that `start` runs elsewhere.")
    stop.add_argument("--port", type=int, help="which one, if several run")
    stop.set_defaults(action=_stop)
    status = actions.add_parser("status", help="show the brokers that run; exit code 1 if none does")
    status.set_defaults(action=_status)


def run(args: argparse.Namespace) -> int:
    """Runs start, stop or status."""
    code: int = args.action(args)
    return code


def _start(args: argparse.Namespace) -> int:
    # SIGTERM ends it as Ctrl-C does, and both are its ordinary end: hence 0.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        broker = Broker(port=args.port, data=args.data).start()
        # Closed first, so that `headrace kafka stop` returns when there is no broker any more.
        with announce(broker.bootstrap, broker.data), contextlib.closing(broker):
            sys.stdout.write(f"ready {broker.bootstrap}\n")
            sys.stdout.flush()
            broker.wait()
    except KeyboardInterrupt:
        return 0
    return 1


def _stop(args: argparse.Namespace) -> int:
    broker = find_broker(args.port)
    stop_broker(broker)
    sys.stdout.write(f"stopped {broker.bootstrap}\n")
    return 0


def _status(_: argparse.Namespace) -> int:
    brokers = running_brokers()
    for broker in brokers:
        sys.stdout.write(f"running {broker.bootstrap} (process {broker.pid}, data in {broker.data})\n")
    if not brokers:
        raise KafkaNotRunningError
    return 0
