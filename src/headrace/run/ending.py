# SPDX-License-Identifier: Apache-2.0
"""Ends this process as a signal would have ended it without us."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn


def end_by(number: signal.Signals) -> NoReturn:
    """Ends this process by a signal; where that has no effect, with the exit code that shells give it."""
    try:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        # The kernel spares the first process of a container, which would go on without its JVM.
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
    finally:
        os._exit(128 + number)
