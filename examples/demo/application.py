# SPDX-License-Identifier: Apache-2.0
"""A PySpark program in a process of its own, started with `headrace run`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Self

from failure import ProcessEndedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

_LEASH = Path(__file__).with_name("leash.py")
_STOP_SECONDS = 15


class Application:
    """A running program; it ends with the ``with`` block, or with this process, however that ends.

    Args:
        script: The program, run unchanged.
        arguments: Its arguments.
        log: A file for what it prints; the screen is the demo's.
    """

    def __init__(self, script: Path, arguments: Sequence[str], *, log: Path) -> None:
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, str(_LEASH), "run", str(script), *arguments],
                # Spark would leave its own traces in the folder that the demo was started from.
                cwd=log.parent,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Ctrl-C goes to every process of the terminal; this one is ended by us, in good order.
                start_new_session=True,
            )

    def check(self) -> None:
        """Raises an error if the program has ended by itself.

        Raises:
            ProcessEndedError: It has.
        """
        code = self._process.poll()
        if code is not None:
            raise ProcessEndedError(name="scoring program", code=code)

    def __enter__(self) -> Self:
        """Does nothing: the program already runs."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends the program as Ctrl-C would, and all it started."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            # With its JVM, which is in its session.
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
