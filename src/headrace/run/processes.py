# SPDX-License-Identifier: Apache-2.0
"""Keeps a whole application running, as a process of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING

from headrace.run.causes import Cause, cause_of_exit
from headrace.run.ending import end_by
from headrace.run.health import Health
from headrace.run.reports import VARIABLE, Failed, Reads, Ready
from headrace.run.supervision import Supervision

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection
    from types import FrameType

    from headrace.run.restarts import Restarts

_LOOK_EVERY_S = 0.2
_LEFTOVERS_S = 10
_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def keep_running(command: Sequence[str], *, what: str, restarts: Restarts, health: str | None) -> int:
    """Runs a command, and runs it again when it fails; returns its exit code when it ends by itself.

    SIGTERM and SIGINT are handed on to it, and end this process by the same signal when it has ended; so they do while
    it waits to be started again.

    Args:
        command: How to start the application.
        what: Its name.
        restarts: How often it is started again.
        health: Where ``/healthz`` and ``/readyz`` are answered.

    Raises:
        GaveUpError: It failed and was not started again.
        HealthAddressError: Nobody can listen at that address.
    """
    with Health(health) as told:
        keeper = _Keeper(command, Supervision(what, restarts, told))
        for number in _SIGNALS:
            signal.signal(number, keeper.hand_on)
        code = keeper.run()
    if keeper.told is not None:
        end_by(keeper.told)
    return code


class _Keeper:
    def __init__(self, command: Sequence[str], supervision: Supervision) -> None:
        self._command = list(command)
        self._supervision = supervision
        self._child: subprocess.Popen[bytes] | None = None
        self._cause: Cause | None = None
        self._waking = threading.Event()
        self.told: signal.Signals | None = None
        """The signal that ended it."""

    def hand_on(self, number: int, _: FrameType | None) -> None:
        """Lets the application end as it would without us."""
        self.told = signal.Signals(number)
        self._supervision.ends()
        self._waking.set()
        if self._child is not None:
            self._child.send_signal(number)

    def run(self) -> int:
        """Returns the exit code of the last run."""
        while True:
            code = self._run_once()
            if code != 0 and not self._waking.is_set():
                self._waking.wait(self._supervision.failed(self._cause or cause_of_exit(code, "its process")))
            if code == 0 or self._waking.is_set():
                return code

    def _run_once(self) -> int:
        self._cause = None
        self._supervision.starts()
        ours, theirs = multiprocessing.Pipe()
        with ours:
            with theirs:
                # In a group of its own: Ctrl-C in a terminal reaches us alone, and we hand it on once.
                self._child = child = subprocess.Popen(
                    self._command,
                    env={**os.environ, VARIABLE: str(theirs.fileno())},
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            if self.told is not None:
                # It came while there was nobody to hand it on to.
                child.send_signal(self.told)
            self._listen(ours, child)
            code = child.wait()
        _clear(child.pid)
        return code

    def _listen(self, line: Connection, child: subprocess.Popen[bytes]) -> None:
        """Takes reports until there will be no more."""
        # A process that the application has left behind may hold the line open: hence the look at the child.
        while line.poll(_LOOK_EVERY_S) or child.poll() is None:
            if not line.poll():
                continue
            try:
                report = line.recv()
            except (EOFError, OSError):
                return
            match report:
                case Failed():
                    self._cause = report.cause
                case Reads():
                    self._supervision.reads(report.query, report.position)
                case Ready() if self.told is None:
                    self._supervision.is_ready(report.is_ready)


def _clear(group: int) -> None:
    """Waits until all of an application's group of processes is gone, and in the end sees to it.

    A JVM whose Python was killed notices it and ends, but two runs side by side would be in each other's way.
    """
    deadline = time.monotonic() + _LEFTOVERS_S
    with contextlib.suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < deadline:
            # As the first process of a container we inherit them, and they are not gone until we have asked.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(-group, os.WNOHANG)
            os.killpg(group, 0)
            time.sleep(_LOOK_EVERY_S / 4)
        os.killpg(group, signal.SIGKILL)
