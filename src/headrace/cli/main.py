# SPDX-License-Identifier: Apache-2.0
"""Puts the subcommands together.

Each module in ``COMMANDS`` offers ``NAME``, a docstring whose first line is the command's help, ``arguments(parser)``
and ``run(args) -> int``.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Protocol, cast

from headrace import __version__
from headrace.cli import bench, check, kafka, produce, run, tail, top, topics
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Command(Protocol):
    """What a module of a subcommand offers."""

    NAME: str
    __doc__: str | None

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declares the command's arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Runs the command and returns the exit code."""


COMMANDS: tuple[Command, ...] = (run, top, check, kafka, topics, produce, tail, bench)

INTERRUPTED = 130
"""The exit code of a program that Ctrl-C ended, by the shells' convention."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the subcommand that the command line names and returns its exit code."""
    args = build_parser().parse_args(argv)
    command = cast("Command", args.command)
    try:
        return command.run(args)
    except HeadraceError as error:
        # A process ends here: the sentence is for its user, a traceback would bury it.
        sys.stderr.write(f"headrace {command.NAME}: {error}\n")
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def build_parser() -> argparse.ArgumentParser:
    """Builds the parser of the whole command line."""
    # Where options may be cut short, argparse looks for ours among those of a script.
    parser = argparse.ArgumentParser(
        prog="headrace", description="Spark's Real-Time Mode, made fast and easy.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"headrace {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        summary = (command.__doc__ or "").partition("\n")[0]
        subparser = subparsers.add_parser(command.NAME, help=summary, description=summary, allow_abbrev=False)
        command.arguments(subparser)
        subparser.set_defaults(command=command)
    return parser


if __name__ == "__main__":
    sys.exit(main())
