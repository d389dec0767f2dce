# SPDX-License-Identifier: Apache-2.0
"""Why a broker ended, read from what it wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """A reason why a broker ends, known by a sign in what it writes.

    Attributes:
        sign: The text by which it is known.
        reason: What happened, as a clause.
        instead: What to do about it, as a sentence.
    """

    sign: str
    reason: str
    instead: str


PORT_TAKEN = Cause(
    sign="Address already in use",
    reason="a port it needs is taken",
    instead="Choose another port; 0 takes any free one.",
)

FOLDER_IN_USE = Cause(
    sign="Failed to acquire lock",
    reason="another broker uses its data folder",
    instead="Stop that one, or give another folder.",
)

CAUSES = (
    PORT_TAKEN,
    FOLDER_IN_USE,
    Cause(
        sign="No space left on device",
        reason="the disk is full",
        instead="Free some space, or give a data folder on another disk.",
    ),
    Cause(
        sign="UnsupportedClassVersionError",
        reason="Java is older than 17",
        instead="Install a JDK 17 and put it on PATH or in JAVA_HOME.",
    ),
    Cause(
        sign="OutOfMemoryError",
        reason="its memory does not suffice",
        instead="Close other programs and try again.",
    ),
)

# In the order of what they say: the exception itself, the JVM's own complaint, that there was an exception.
_COMPLAINTS = ("Exception: ", "Error: ", " ERROR ")


def find_cause(data: Path) -> Cause:
    """Finds out why the broker of a data folder ended, from what it wrote since its last start."""
    logs = (data / "server.log", data / "console.log")
    lines = [line for log in logs if log.exists() for line in log.read_text(errors="replace").splitlines()]
    for cause in CAUSES:
        if any(cause.sign in line for line in lines):
            return cause
    complaints = (line.strip() for sign in _COMPLAINTS for line in lines if sign in line)
    return Cause(
        sign="",
        reason=next(complaints, "it ended without a word"),
        instead=f"Its log is {data / 'server.log'}, if the folder is not a temporary one.",
    )
