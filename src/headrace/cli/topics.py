# SPDX-License-Identifier: Apache-2.0
"""List, create, describe and delete topics."""

from __future__ import annotations

import argparse
import sys

from headrace.cli.bootstrap import add_bootstrap, chosen_bootstrap
from headrace.local import Topics

NAME = "topics"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares list, create, describe and delete."""
    actions = parser.add_subparsers(metavar="ACTION")
    parser.set_defaults(action=_list)
    add_bootstrap(parser)
    listing = actions.add_parser("list", help="names, one a line (the default)")
    listing.set_defaults(action=_list)
    create = actions.add_parser("create", help="make a topic")
    create.add_argument("name")
    create.add_argument("--partitions", type=int, default=1, metavar="N", help="default: %(default)s")
    create.add_argument(
        "--config", action="append", default=[], type=_setting, metavar="K=V", help="a setting of the topic; repeatable"
    )
    create.set_defaults(action=_create)
    describe = actions.add_parser("describe", help="partitions with their offsets, and settings")
    describe.add_argument("name")
    describe.set_defaults(action=_describe)
    delete = actions.add_parser("delete", help="delete a topic with its records")
    delete.add_argument("name")
    delete.set_defaults(action=_delete)
    for action in (listing, create, describe, delete):
        # Accepted on either side of the action's name; suppressed, or its absence here would undo the other side.
        add_bootstrap(action, default=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Runs the action."""
    args.action(Topics(chosen_bootstrap(args)), args)
    return 0


def _list(topics: Topics, _: argparse.Namespace) -> None:
    sys.stdout.writelines(f"{name}\n" for name in topics.names())


def _create(topics: Topics, args: argparse.Namespace) -> None:
    topics.create(args.name, partitions=args.partitions, config=dict(args.config))


def _delete(topics: Topics, args: argparse.Namespace) -> None:
    topics.delete(args.name)


def _describe(topics: Topics, args: argparse.Namespace) -> None:
    topic = topics.describe(args.name)
    sys.stdout.write(f"{'partition':>9} {'earliest':>12} {'latest':>12}\n")
    for partition in topic.partitions:
        sys.stdout.write(f"{partition.number:>9} {partition.earliest:>12} {partition.latest:>12}\n")
    for key, value in topic.config.items():
        sys.stdout.write(f"{key}={value}\n")


def _setting(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    if not separator:
        message = f"'{text}' is not of the form K=V"
        raise argparse.ArgumentTypeError(message)
    return key, value
