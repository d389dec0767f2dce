# SPDX-License-Identifier: Apache-2.0
"""The part of a command line that names an application, and the settings it runs with."""

from __future__ import annotations

import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares them."""
    parser.add_argument("--master", metavar="URL", help="where to run; by default locally, with slots to spare")
    parser.add_argument(
        "--conf",
        metavar="K=V",
        type=_setting,
        action="append",
        default=[],
        help="a setting of Spark's; what the script itself sets wins over it, as with spark-submit",
    )
    # All that stands behind the script's name belongs to the script, also what looks like an option of ours.
    script = parser.add_argument(
        "script", nargs=argparse.PARSER, metavar="APP.py", help="the script, and behind it its own arguments"
    )
    script.required = False


def settings(args: argparse.Namespace) -> dict[str, str]:
    """Returns the settings that were given."""
    conf = dict(args.conf)
    if args.master is not None:
        conf["spark.master"] = args.master
    return conf


def _setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals):
        message = f"{text!r} is not of the form K=V"
        raise argparse.ArgumentTypeError(message)
    return key, value
