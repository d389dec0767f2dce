# SPDX-License-Identifier: Apache-2.0
"""Run a PySpark script, unchanged, with the engine."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.cli import application

if TYPE_CHECKING:
    from headrace.dashboard.address import Address
    from headrace.dashboard.service import Companion

NAME = "run"

# What -c and -m put first into the path is the folder one works in: an argparse.py there would be taken for Python's.
# The place is kept, for the folder of the script.
_START = "import sys; sys.path[0] = sys.path[0] or sys.prefix; from headrace.cli.main import main; sys.exit(main())"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    application.arguments(parser)
    parser.add_argument(
        "--catch-up",
        action="store_true",
        help="let each real-time query first read what is there in micro-batches, and show how far it is",
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--dashboard",
        metavar="HOST:PORT",
        help="where the dashboard is served, with metrics under /metrics (default: this machine alone, a port that is "
        "free); :PORT for this machine alone; elsewhere it wants a token, which is part of the address it prints",
    )
    shown.add_argument("--no-dashboard", action="store_true", help="serve none")
    # From a supervisor to each run of its application.
    parser.add_argument("--dashboard-first-port", type=int, help=argparse.SUPPRESS)
    parser.add_argument(
        "--otel",
        metavar="URL",
        help="send metrics to an OpenTelemetry collector, such as http://localhost:4318/v1/metrics (needs "
        "headrace[otel])",
    )
    supervised = parser.add_argument_group("to keep it running")
    supervised.add_argument(
        "--supervise",
        action="store_true",
        help="start the script again when it fails, unless that cannot help; SIGTERM drains and ends it",
    )
    supervised.add_argument(
        "--restarts",
        metavar="N",
        type=int,
        default=10,
        help="give up after so many in a row (default: %(default)s); a minute in which all queries read ends a row",
    )
    supervised.add_argument(
        "--health",
        metavar="HOST:PORT",
        help="answer /healthz and /readyz there over HTTP; :PORT answers this machine alone",
    )
    parser.add_argument("--explain", action="store_true", help="print what Headrace sets, and why, and run nothing")
    parser.set_defaults(usage_error=parser.error)


def run(args: argparse.Namespace) -> int:
    """Runs the script, in this process unless it is supervised, and returns what its normal end means."""
    # Imported here: PySpark takes longer to load than most other commands take to finish.
    from headrace.run import explain  # noqa: PLC0415
    from headrace.run.application import run as run_script  # noqa: PLC0415

    conf = application.settings(args)
    if args.explain:
        sys.stdout.write(explain.as_text(conf))
    elif not args.script:
        args.usage_error("name the script to run")
    elif args.supervise:
        return _supervise(args, conf)
    elif args.health is not None:
        args.usage_error("--health needs --supervise")
    else:
        run_script(args.script[0], args.script[1:], conf=conf, catch_up=args.catch_up, companion=_companion(args))
    return 0


def _companion(args: argparse.Namespace) -> Companion | None:
    if args.no_dashboard and args.otel is None:
        return None
    from headrace.dashboard.service import Companion  # noqa: PLC0415

    address = replace(_address(args), first_port=args.dashboard_first_port)
    return Companion(args.script[0], None if args.no_dashboard else address, args.otel)


def _address(args: argparse.Namespace) -> Address:
    from headrace.dashboard.address import Address  # noqa: PLC0415

    return Address() if args.dashboard is None else Address.parse(args.dashboard)


def _supervise(args: argparse.Namespace, conf: dict[str, str]) -> int:
    """Runs this same command without --supervise, as often as need be."""
    from headrace.run.processes import keep_running  # noqa: PLC0415
    from headrace.run.restarts import Restarts  # noqa: PLC0415

    settings = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    catch_up = ["--catch-up"] if args.catch_up else []
    options = [*settings, *catch_up, *_dashboard_options(args), *_otel_options(args)]
    command = [sys.executable, "-c", _START, NAME, *options, *args.script]
    return keep_running(command, what=args.script[0], restarts=Restarts(limit=args.restarts), health=args.health)


def _dashboard_options(args: argparse.Namespace) -> list[str]:
    """Lets every run try the same port first, and want the same token: an open page then finds the next run."""
    from headrace.dashboard.address import TOKEN_VARIABLE  # noqa: PLC0415

    if args.no_dashboard:
        return ["--no-dashboard"]
    address = _address(args)
    token = address.token()
    if token is not None:
        os.environ[TOKEN_VARIABLE] = token
    named = [] if args.dashboard is None else ["--dashboard", args.dashboard]
    port = address.free_port()
    return named if port is None else [*named, "--dashboard-first-port", str(port)]


def _otel_options(args: argparse.Namespace) -> list[str]:
    if args.otel is None:
        return []
    # What is not installed is said here, once: no restart brings it.
    importlib.import_module("headrace.observe.otel")
    return ["--otel", args.otel]
