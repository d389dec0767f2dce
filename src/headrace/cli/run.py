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
    parser.add_argument(
        "--catch-up",
        action="store_true",
        help="let each real-time query first read what is there in micro-batches, and show how far it is",
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
        help="give up after so many in a row (default: %(default)s); a minute without failure ends a row",
    )
    supervised.add_argument(
        "--health",
        metavar="HOST:PORT",
        help="answer /healthz and /readyz there over HTTP; :PORT answers this machine alone",
    )
    parser.add_argument("--explain", action="store_true", help="print what Headrace sets, and why, and run nothing")
    # All that stands behind the script's name belongs to the script, also what looks like an option of ours.
    script = parser.add_argument(
        "script", nargs=argparse.PARSER, metavar="APP.py", help="the script to run, and behind it its own arguments"
    )
    script.required = False
    parser.set_defaults(usage_error=parser.error)


def run(args: argparse.Namespace) -> int:
    """Runs the script, in this process unless it is supervised, and returns what its normal end means."""
    # Imported here: PySpark takes longer to load than most other commands take to finish.
    from headrace.run import application, explain  # noqa: PLC0415

    conf = dict(args.conf)
    if args.master is not None:
        conf["spark.master"] = args.master
    if args.explain:
        sys.stdout.write(explain.as_text(conf))
    elif not args.script:
        args.usage_error("name the script to run")
    elif args.supervise:
        return _supervise(args, conf)
    elif args.health is not None:
        args.usage_error("--health needs --supervise")
    else:
        application.run(args.script[0], args.script[1:], conf=conf, catch_up=args.catch_up)
    return 0


def _supervise(args: argparse.Namespace, conf: dict[str, str]) -> int:
    """Runs this same command without --supervise, as often as need be."""
    from headrace.run.processes import keep_running  # noqa: PLC0415
    from headrace.run.restarts import Restarts  # noqa: PLC0415

    settings = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    options = [*settings, *(["--catch-up"] if args.catch_up else [])]
    command = [sys.executable, "-m", "headrace.cli.main", NAME, *options, *args.script]
    return keep_running(command, what=args.script[0], restarts=Restarts(limit=args.restarts), health=args.health)


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        message = f"{text!r} is not of the form K=V"
        raise argparse.ArgumentTypeError(message)
    return key, value
