# SPDX-License-Identifier: Apache-2.0
"""Runs a `headrace` command as a child that cannot outlive its parent: when its stdin ends, it gets a Ctrl-C.

``python leash.py run APP.py`` is ``headrace run APP.py`` otherwise.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from headrace.cli.main import main


def _interrupt_at_end_of_input() -> None:
    while os.read(0, 1024):
        pass
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    threading.Thread(target=_interrupt_at_end_of_input, daemon=True).start()
    sys.exit(main(sys.argv[1:]))
