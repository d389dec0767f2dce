# SPDX-License-Identifier: Apache-2.0
"""A child process that ends with its parent, however that ends."""

from __future__ import annotations

import contextlib
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# The shell becomes the child, after it left a watcher behind. The parent's end of the watcher's pipe closes when the
# parent ends; the watcher then ends the child and removes FOLDER, if one is given. The word `keep` sends it home.
# Unlike PR_SET_PDEATHSIG this also works on macOS, and when the thread that started the child ends before the parent.
# `kill $$` cannot hit a stranger: the system does not reuse the number of a process while its group has a member, and
# the watcher is one.
_KEEPER = """
exec 3<&0 </dev/null
folder=$1; shift
# In a container nobody may collect the child once its parent is gone: dead, it still has a number, but no program.
runs() { kill -0 $$ && { [ ! -d /proc/$$ ] || [ -e /proc/$$/exe ]; }; }
(
    read -r word <&3
    if [ "$word" = keep ]; then exit; fi
    kill -TERM $$
    tries=0
    while runs && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 0.1; done
    kill -KILL $$
    if [ -n "$folder" ]; then rm -rf "$folder"; fi
) >/dev/null 2>&1 &
exec "$@" 3<&-
"""


def start_kept(command: Sequence[str], *, cwd: Path, output: Path, remove: Path | None) -> subprocess.Popen[bytes]:
    """Starts a child process that ends with this one.

    Args:
        command: The program and its arguments.
        cwd: The child's working directory.
        output: A file for all that the child prints.
        remove: A folder to remove when this process ends before it has called ``release``.

    Returns:
        The child; call ``release`` once it has ended.
    """
    with output.open("wb") as file:
        return subprocess.Popen(
            ["/bin/sh", "-c", _KEEPER, "keeper", str(remove or ""), *command],
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
            # Ctrl-C goes to every process of the terminal's foreground; we end the child, in good order.
            start_new_session=True,
        )


def release(child: subprocess.Popen[bytes]) -> None:
    """Sends the watcher of a child home that has ended; what it would have removed stays."""
    assert child.stdin is not None
    # The watcher may have been killed too; then there is nobody to tell.
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(b"keep\n")
        child.stdin.flush()
    with contextlib.suppress(BrokenPipeError):
        child.stdin.close()
