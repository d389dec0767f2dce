# SPDX-License-Identifier: Apache-2.0
"""The brokers that `headrace kafka start` runs for this user, so that other commands find them.

One file per broker, locked by the process that runs it: a lock ends with its process, so a file without one is a
leftover, and a number in a locked file still belongs to that process.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from headrace.engine.cache import cache_folder, exclusive
from headrace.errors import KafkaNotRunningError, SeveralBrokersError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_STOP_SECONDS = 20
_POLL_SECONDS = 0.05


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningBroker:
    """A broker that another process runs.

    Attributes:
        bootstrap: Its address.
        pid: The process of its `headrace kafka start`.
        data: Its data folder.
    """

    bootstrap: str
    pid: int
    data: str


@contextlib.contextmanager
def announce(bootstrap: str, data: Path) -> Iterator[None]:
    """Lets other commands find a broker of this process, as long as the block lasts."""
    folder = cache_folder("brokers")
    entry = RunningBroker(bootstrap=bootstrap, pid=os.getpid(), data=str(data))
    path = _path(folder, entry)
    unfinished = path.with_suffix(".unfinished")
    with exclusive(folder / ".lock"):
        file = unfinished.open("w", encoding="utf-8")
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(asdict(entry)))
        file.flush()
        # It appears whole and locked.
        unfinished.replace(path)
    try:
        yield
    finally:
        with exclusive(folder / ".lock"):
            path.unlink(missing_ok=True)
            file.close()


def running_brokers() -> list[RunningBroker]:
    """Lists the brokers that run, by address."""
    folder = cache_folder("brokers")
    with exclusive(folder / ".lock"):
        entries = [_read(path) for path in sorted(folder.glob("*.json"))]
    return [entry for entry in entries if entry is not None]


def find_broker(port: int | None = None) -> RunningBroker:
    """Returns the broker on a port, or the only one that runs.

    Raises:
        KafkaNotRunningError: There is none.
        SeveralBrokersError: There are several, and no port says which.
    """
    found = [entry for entry in running_brokers() if port is None or entry.bootstrap.endswith(f":{port}")]
    if not found:
        raise KafkaNotRunningError
    if len(found) > 1:
        raise SeveralBrokersError(", ".join(entry.bootstrap for entry in found))
    return found[0]


def stop_broker(entry: RunningBroker) -> None:
    """Ends a broker of another process, and returns once it has ended."""
    deadline = time.monotonic() + _STOP_SECONDS
    _signal(entry, signal.SIGTERM)
    while entry in running_brokers():
        if time.monotonic() > deadline:
            # Its watcher ends the broker when the process that runs it is gone.
            _signal(entry, signal.SIGKILL)
        time.sleep(_POLL_SECONDS)


def _signal(entry: RunningBroker, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(entry.pid, number)


def _path(folder: Path, entry: RunningBroker) -> Path:
    return folder / f"{entry.bootstrap.replace(':', '-')}.json"


def _read(path: Path) -> RunningBroker | None:
    with path.open(encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return RunningBroker(**json.load(file))
        path.unlink()
        return None
