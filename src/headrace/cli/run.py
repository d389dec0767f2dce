# SPDX-License-Identifier: Apache-2.0
"""Run a PySpark script, unchanged, with the engine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from headrace.cli import application

if TYPE_CHECKING:
    import argparse

NAME = "run"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    application.arguments(parser)
    parser.add_argument("--explain", action="store_true", help="print what Headrace sets, and why, and run nothing")
    parser.set_defaults(usage_error=parser.error)


def run(args: argparse.Namespace) -> int:
    """Runs the script in this process and returns what its normal end means."""
    # Imported here: PySpark takes longer to load than most other commands take to finish.
    from headrace.run import explain  # noqa: PLC0415
    from headrace.run.application import run as run_script  # noqa: PLC0415

    conf = application.settings(args)
    if args.explain:
        sys.stdout.write(explain.as_text(conf))
    elif args.script:
        run_script(args.script[0], args.script[1:], conf=conf)
    else:
        args.usage_error("name the script to run")
    return 0
