# SPDX-License-Identifier: Apache-2.0
"""Runs somebody's PySpark script in this process, as Python itself would, with the engine."""

from __future__ import annotations

import atexit
import builtins
import os
import signal
import sys
import threading
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

from headrace.engine import gateway
from headrace.engine.attach import attach
from headrace.errors import ApplicationNotFoundError, HeadraceError
from headrace.run.catch_up import catch_up_before_every_start
from headrace.run.causes import cause_of
from headrace.run.drain import drain_all
from headrace.run.ending import end_by
from headrace.run.reports import Failed, Line, line_to_supervisor
from headrace.run.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Companion(Protocol):
    """What goes along with an application, from the start of its Spark to its end."""

    def start(self) -> None:
        """Begins; is called again when the application makes another SparkContext."""

    def stop(self) -> None:
        """Ends; also when it never began."""


def run(
    script: str,
    arguments: Sequence[str],
    *,
    conf: Mapping[str, str],
    catch_up: bool = False,
    companion: Companion | None = None,
) -> None:
    """Runs a script to its end, which may be the end of the process.

    The script cannot tell the difference to ``python SCRIPT ARGUMENTS``, apart from the engine: it is the module
    ``__main__``, and what it prints, what it exits with and what a signal does to it are its own.

    Args:
        script: The path of the script.
        arguments: What it finds in ``sys.argv`` behind its own name.
        conf: Settings of Spark's, over which the script's own win.
        catch_up: Whether its real-time queries catch up in micro-batches first.
        companion: What goes along with it.

    Raises:
        ApplicationNotFoundError: There is no such script.
        HeadraceError: The engine cannot be attached; the script was not started.
        SystemExit: The script asked for it, or ended with an error that has been shown.
    """
    line = line_to_supervisor()
    _attach(script, conf, line, companion)
    if catch_up:
        catch_up_before_every_start()
    signal.signal(signal.SIGTERM, lambda *_: _drained(companion))
    if line is not None:
        Watch(line).start()
    end = _End(companion)
    # Registered before the script can register anything: exit handlers run from the last to the first, after all
    # threads that the script left running.
    atexit.register(end)
    main = _main_module(script)
    sys.modules["__main__"] = main
    sys.argv = [script, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = str(Path(script).resolve().parent)
    try:
        # From bytes, so that the script's own declaration of its encoding holds; our __future__ imports are not its.
        exec(compile(Path(script).read_bytes(), str(main.__file__), "exec", dont_inherit=True), vars(main))  # noqa: S102
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 the script ends here, as it would at the end of Python's own main
        end.is_interrupted = isinstance(error, KeyboardInterrupt)
        _tell(line, error)
        # The first frame is this function's.
        own = error.__traceback__.tb_next if error.__traceback__ is not None else None
        sys.excepthook(type(error), error.with_traceback(own), own)
        sys.exit(1)


def _attach(script: str, conf: Mapping[str, str], line: Line | None, companion: Companion | None) -> None:
    try:
        if not Path(script).is_file():
            raise ApplicationNotFoundError(script)
        attach(conf, None if companion is None else companion.start)
    except HeadraceError as error:
        _tell(line, error)
        raise


def _tell(line: Line | None, error: BaseException) -> None:
    if line is not None:
        line.tell(Failed(cause=cause_of(error)))


def _drained(companion: Companion | None) -> None:
    """Ends what runs in good order, and then the process by the signal, as it would have ended without us."""
    # This thread may be in the middle of a call to the JVM, and each thread has one connection.
    draining = threading.Thread(target=drain_all)
    draining.start()
    draining.join()
    gateway.stop_jvm()
    if companion is not None:
        companion.stop()
    end_by(signal.SIGTERM)


def _main_module(script: str) -> ModuleType:
    """Makes the module that Python would make of a script."""
    path = os.path.abspath(script)  # noqa: PTH100 Path.resolve() would follow links, which Python does not
    main = ModuleType("__main__")
    main.__file__ = path
    main.__loader__ = SourceFileLoader("__main__", path)
    vars(main).update(__builtins__=builtins, __cached__=None)
    return main


class _End:
    """What is left to do when the script is through."""

    def __init__(self, companion: Companion | None) -> None:
        self.is_interrupted = False
        self._companion = companion

    def __call__(self) -> None:
        gateway.stop_jvm()
        if self._companion is not None:
            self._companion.stop()
        if self.is_interrupted:
            # Python ends a script that Ctrl-C stopped by that same signal, so that a shell's loop around it ends too.
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            end_by(signal.SIGINT)
