# SPDX-License-Identifier: Apache-2.0
"""A Python function in a process of its own."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING, Self

from failure import ProcessEndedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

_END_SECONDS = 5
# Spawned, not forked: a fork would inherit the locks of the Kafka client's threads without the threads.
_CONTEXT = multiprocessing.get_context("spawn")


class Child:
    """A function that runs in a process of its own until the ``with`` block ends.

    Args:
        name: What the process is, for messages.
        target: The function. Its last argument is a connection to this process, and it must end when that breaks.
        arguments: Its other arguments.
    """

    def __init__(self, name: str, target: Callable[..., None], *arguments: object) -> None:
        self.name = name
        self.connection, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=target, args=(*arguments, theirs), name=name, daemon=True)
        self._process.start()
        # Only the child may hold its end, or we would not see when it ends.
        theirs.close()

    def messages(self) -> Iterator[object]:
        """Yields what the child has sent and we have not seen yet, without waiting.

        Raises:
            ProcessEndedError: The child ended.
        """
        try:
            while self.connection.poll():
                yield self.connection.recv()
        except (EOFError, ConnectionResetError) as error:
            self._process.join(_END_SECONDS)
            raise ProcessEndedError(name=self.name, code=self._process.exitcode) from error

    def __enter__(self) -> Self:
        """Does nothing: the child already runs."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Hangs up, which ends the child."""
        self.connection.close()
        self._process.join(_END_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
