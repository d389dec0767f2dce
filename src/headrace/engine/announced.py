# SPDX-License-Identifier: Apache-2.0
"""What processes of this user announce, so that other commands find them.

One file per entry, locked by the process that announces it: a lock ends with its process, so a file without one is a
leftover, and a number in a locked file still belongs to that process.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from typing import TYPE_CHECKING

from headrace.engine.cache import cache_folder, exclusive

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

Entry = dict[str, str | int | None]
_OWNER_ONLY = 0o600


@contextlib.contextmanager
def announced(kind: str, name: str, entry: Mapping[str, str | int | None]) -> Iterator[None]:
    """Lets other commands find an entry of this process, as long as the block lasts.

    Args:
        kind: What it is, the name of a folder in the cache.
        name: What no other entry of this kind is called.
        entry: What the others get to know.
    """
    folder = cache_folder(kind)
    path = folder / f"{name}.json"
    unfinished = path.with_suffix(".unfinished")
    with exclusive(folder / ".lock"):
        unfinished.unlink(missing_ok=True)
        file = os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT, _OWNER_ONLY), "w", encoding="utf-8")
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(entry))
        file.flush()
        # It appears whole and locked.
        unfinished.replace(path)
    try:
        yield
    finally:
        with exclusive(folder / ".lock"):
            path.unlink(missing_ok=True)
            file.close()


def entries(kind: str) -> list[Entry]:
    """Lists what running processes have announced, by name."""
    folder = cache_folder(kind)
    with exclusive(folder / ".lock"):
        found = [_read(path) for path in sorted(folder.glob("*.json"))]
    return [entry for entry in found if entry is not None]


def _read(path: Path) -> Entry | None:
    with path.open(encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            entry: Entry = json.load(file)
            return entry
        path.unlink()
        return None
