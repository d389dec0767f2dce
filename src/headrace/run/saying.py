# SPDX-License-Identifier: Apache-2.0
"""Lines of ours among those of an application."""

from __future__ import annotations

import sys


def say(line: str) -> None:
    """Says something on stderr, with our name in front, at once."""
    sys.stderr.write(f"headrace: {line}\n")
    sys.stderr.flush()
