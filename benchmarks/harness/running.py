# SPDX-License-Identifier: Apache-2.0
"""An engine's process: started, watched, stopped or killed with all that came from it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING, Self

import psutil

if TYPE_CHECKING:
    from pathlib import Path

    from engines.engine import Command

PATIENCE_S = 30
# Enough to hold an error's condition and message; a whole log belongs into the kept folder.
LINES_OF_A_FAILURE = 30
AN_ERROR = re.compile(r"^\[[A-Z_]+\]|^[\w.]*(Error|Exception)\b")


class Running:
    """A running engine, for the length of a ``with`` block."""

    def __init__(self, command: Command, log: Path) -> None:
        """Takes what to run and the file that gets its output."""
        self._command = command
        self._log = log

    def __enter__(self) -> Self:
        """Starts the process."""
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stops the process: politely first, then at once."""
        self.unpark()
        self._process.stdin.close() if self._process.stdin else None
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def _start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command.words,
                env={**os.environ, **self._command.environment},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )

    def restart(self) -> None:
        """Starts the process again, after it was killed."""
        self._start()

    def park(self) -> None:
        """Stops the process and all that came from it where they are, so that they use no processor."""
        self._signal(signal.SIGSTOP)

    def unpark(self) -> None:
        """Lets the process go on."""
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kills the process and all that came from it, at once (kill -9)."""
        self._signal(signal.SIGKILL)
        self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        try:
            root = psutil.Process(self._process.pid)
            family = [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    @property
    def pid(self) -> int:
        """The process at the root."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Tells whether the process runs."""
        return self._process.poll() is None

    def failure(self) -> str:
        """Returns the end of what the process said, its last error first."""
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()
        told = [line.strip() for line in lines if line.strip()][-LINES_OF_A_FAILURE:]
        errors = [line for line in told if AN_ERROR.search(line)]
        return "\n".join(errors[-1:] + told) or f"ended with code {self._process.returncode} and without a word"
