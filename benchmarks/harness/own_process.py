# SPDX-License-Identifier: Apache-2.0
"""A process that works beside the harness and takes its orders through a pipe."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable


class OwnProcess:
    """Runs a function in a process of its own, for the length of a ``with`` block."""

    def __init__(self, work: Callable[..., None], *arguments: object) -> None:
        """Takes the function, which gets the other end of the pipe as its first argument, and its further ones."""
        self._here, there = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=work, args=(there, *arguments), daemon=True)

    def __enter__(self) -> Self:
        """Starts the process."""
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the process."""
        self._process.terminate()
        self._process.join()

    @property
    def pid(self) -> int:
        """The process; 0 before it runs."""
        return self._process.pid or 0
