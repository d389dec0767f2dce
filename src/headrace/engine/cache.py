# SPDX-License-Identifier: Apache-2.0
"""The folder where Headrace keeps what it fetched or computed once for all applications of a user."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def cache_folder(name: str) -> Path:
    """Returns a folder of the cache, made if it was not there.

    Args:
        name: The folder's name below ``$HEADRACE_CACHE``, or below ``~/.cache/headrace`` when that is not set.
    """
    root = os.environ.get("HEADRACE_CACHE")
    folder = (Path(root) if root else Path.home() / ".cache" / "headrace") / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Holds a lock between processes; the system releases it even when the holder is killed."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
