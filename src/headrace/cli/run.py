# SPDX-License-Identifier: Apache-2.0
"""Run a PySpark script, unchanged, with the engine."""

from __future__ import annotations

import argparse
import sys

NAME = "run"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument("--master", metavar="URL", help="where to run; by default locally, with slots to spare")
    parser.add_argument(
        "--conf",
        metavar="K=V",
        type=_setting,
        action="append",
        default=[],
        help="a setting of Spark's; what the script itself sets wins over it, as with spark-submit",
    )
    parser.add_argument("--explain", action="store_true", help="print what Headrace sets, and why, and run nothing")
    # All that stands behind the script's name belongs to the script, also what looks like an option of ours.
    script = parser.add_argument(
        "script", nargs=argparse.PARSER, metavar="APP.py", help="the script to run, and behind it its own arguments"
    )
    script.required = False
    parser.set_defaults(usage_error=parser.error)


def run(args: argparse.Namespace) -> int:
    """Runs the script in this process and returns what its normal end means."""
    # Imported here: PySpark takes longer to load than most other commands take to finish.
    from headrace.run import application, explain  # noqa: PLC0415

    conf = dict(args.conf)
    if args.master is not None:
        conf["spark.master"] = args.master
    if args.explain:
        sys.stdout.write(explain.as_text(conf))
    elif args.script:
        application.run(args.script[0], args.script[1:], conf=conf)
    else:
        args.usage_error("name the script to run")
    return 0


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        message = f"{text!r} is not of the form K=V"
        raise argparse.ArgumentTypeError(message)
    return key, value
