# SPDX-License-Identifier: Apache-2.0
"""Show in the terminal how fast running applications are."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import time
import tty
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError, NotAnsweringError, NothingRunsError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from rich.console import RenderableType

    from headrace.dashboard.client import Client

NAME = "top"

_EVERY_S = 1.0
_KEYS = 64
"""More than anybody types in a second."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the address and how often to look."""
    parser.description = f"{__doc__} Looks again every second; q ends it."
    parser.add_argument(
        "address",
        nargs="?",
        metavar="ADDRESS",
        help="what `headrace run` printed, or HOST:PORT of it (default: all applications of yours on this machine)",
    )
    parser.add_argument("--once", action="store_true", help="print one view and end; so it is without a terminal")


def run(args: argparse.Namespace) -> int:
    """Shows the view until q or Ctrl-C, or once."""
    from rich.console import Console  # noqa: PLC0415 most commands draw nothing

    console = Console(highlight=False, markup=False, emoji=False)
    view = _view(args.address)
    if args.once or not console.is_terminal or not sys.stdin.isatty():
        console.print(view)
        return 0
    from rich.live import Live  # noqa: PLC0415

    with _keys(), Live(view, console=console, screen=True, auto_refresh=False) as live:
        live.refresh()
        while not _is_told_to_end():
            live.update(_view_or_why(args.address), refresh=True)
    return 0


def _view(address: str | None) -> RenderableType:
    """One look at all applications.

    Raises:
        NothingRunsError: There is none.
        NotAnsweringError: The one that was named does not answer.
    """
    from rich.console import Group  # noqa: PLC0415

    from headrace.observe.screen import as_screen  # noqa: PLC0415

    seen: list[RenderableType] = []
    for name, client in _clients(address):
        try:
            seen.append(as_screen(client.snapshot(), name))
        except NotAnsweringError as error:
            # One that is just starting or ending hides no other.
            if address is not None:
                raise
            seen.append(str(error))
    return Group(*seen)


def _view_or_why(address: str | None) -> RenderableType:
    """The view; while there is none, the reason: an application may come back."""
    try:
        return _view(address)
    except HeadraceError as error:
        return str(error)


def _clients(address: str | None) -> list[tuple[str, Client]]:
    from headrace.dashboard.client import Client  # noqa: PLC0415 http takes a while to load
    from headrace.dashboard.registry import running_applications  # noqa: PLC0415

    if address is not None:
        client = Client.parse(address)
        return [(client.url, client)]
    found = running_applications()
    if not found:
        raise NothingRunsError
    return [(f"{each.name} at {each.url}", Client(url=each.url, token=each.token)) for each in found]


@contextlib.contextmanager
def _keys() -> Iterator[None]:
    """Lets keys come one by one and unseen; Ctrl-C stays what it is."""
    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _is_told_to_end() -> bool:
    """Waits for the next look; says whether somebody typed q meanwhile."""
    due = time.monotonic() + _EVERY_S
    while (left := due - time.monotonic()) > 0:
        ready, _, _ = select.select([sys.stdin], [], [], left)
        if ready:
            keys = os.read(sys.stdin.fileno(), _KEYS)
            # Nothing to read is the end of the input: the terminal is gone.
            if not keys or b"q" in keys.lower():
                return True
    return False
