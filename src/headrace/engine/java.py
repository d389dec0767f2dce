# SPDX-License-Identifier: Apache-2.0
"""Finds the Java that starts every JVM of ours."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from headrace.errors import JavaMissingError


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
