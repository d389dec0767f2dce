# SPDX-License-Identifier: Apache-2.0
"""Finds the Java that starts every JVM of ours, and makes its compiler give way to the rest."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from headrace.errors import JavaMissingError

_COMPILER = "C2 CompilerThre"
"""As Linux shows the name, of which it keeps 15 characters."""
_NICENESS = 10


def find_java(tool: str = "java") -> Path:
    """Finds a program of the Java installation the way Spark does: in ``JAVA_HOME``, else on ``PATH``.

    Args:
        tool: The program's name: ``java``, or another of the same installation such as ``keytool``.

    Returns:
        The program's path.

    Raises:
        JavaMissingError: It is in neither place.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        # A wrong JAVA_HOME is not passed over in silence: Spark would fail on it later, in more words.
        found = shutil.which(tool, path=str(Path(home, "bin")))
        looked = f"no {tool} in JAVA_HOME={home}"
    else:
        found = shutil.which(tool)
        looked = f"no {tool} on PATH, and JAVA_HOME is not set"
    if found is None:
        raise JavaMissingError(looked)
    return Path(found)


def let_compiler_yield(pid: int) -> None:
    """Lets a JVM's optimising compiler run only where nothing else wants the processor.

    It is busy for minutes after a start and as entitled as any thread; with two processors, records wait for it. Only
    Linux gives threads priorities of their own, and a process of somebody else's keeps them: then nothing changes.
    """
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            if (thread / "comm").read_text().strip() == _COMPILER:
                os.setpriority(os.PRIO_PROCESS, int(thread.name), _NICENESS)
