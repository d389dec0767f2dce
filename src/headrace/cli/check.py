# SPDX-License-Identifier: Apache-2.0
"""Judge an application for real-time mode, and start nothing."""

from __future__ import annotations

import argparse
import re
import sys
from datetime import timedelta

from headrace.cli import application

NAME = "check"

_UNITS = {"ms": 1, "s": 1000, "second": 1000, "seconds": 1000, "min": 60_000, "minute": 60_000, "minutes": 60_000}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.description = (
        f"{__doc__} The application itself is run: whatever it does before a start() happens. "
        "Exit code: 0 ready, 1 not eligible, 2 eligible but with too few slots."
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON, for a pipeline")
    parser.add_argument(
        "--budget",
        metavar="TIME",
        type=_budget,
        help='how old a result may be when it is read, such as "100 ms": decides which mode is advised',
    )
    application.arguments(parser)
    parser.set_defaults(usage_error=parser.error)


def run(args: argparse.Namespace) -> int:
    """Runs the application with every start() replaced, prints what was found and returns the outcome."""
    # Imported here: PySpark takes longer to load than most other commands take to finish.
    from headrace.advise.report import Report  # noqa: PLC0415
    from headrace.run.rehearsal import rehearse  # noqa: PLC0415

    if not args.script:
        args.usage_error("name the script to check")
    rehearsal = rehearse(args.script[0], args.script[1:], conf=application.settings(args))
    report = Report(queries=rehearsal.queries, budget=args.budget)
    sys.stdout.write(report.as_json() + "\n" if args.json else report.as_text())
    if rehearsal.exit_code:
        sys.stderr.write(
            f"headrace check: the application ended with exit code {rehearsal.exit_code}; what it would have started "
            "later is not in the report\n"
        )
        return 1
    if not rehearsal.queries:
        sys.stderr.write("headrace check: the application started no streaming query\n")
    return int(report.outcome)


def _budget(text: str) -> timedelta:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", text)
    if found is None or found[2] not in _UNITS:
        message = f"{text!r} is not a time such as '100 ms' or '2 s'"
        raise argparse.ArgumentTypeError(message)
    return timedelta(milliseconds=float(found[1]) * _UNITS[found[2]])
