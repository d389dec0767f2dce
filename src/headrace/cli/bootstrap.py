# SPDX-License-Identifier: Apache-2.0
"""Which broker a command talks to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.local.registry import find_broker

if TYPE_CHECKING:
    import argparse


def add_bootstrap(parser: argparse.ArgumentParser, default: str | None = None) -> None:
    """Declares ``--bootstrap``."""
    parser.add_argument(
        "--bootstrap",
        metavar="HOST:PORT",
        default=default,
        help="the broker (default: the one that `headrace kafka start` runs)",
    )


def chosen_bootstrap(args: argparse.Namespace) -> str:
    """Returns the broker's address: the one given, else that of the running local broker."""
    given: str | None = args.bootstrap
    return given or find_broker().bootstrap
