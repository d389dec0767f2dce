# SPDX-License-Identifier: Apache-2.0
"""The brokers that `headrace kafka start` runs for this user, so that other commands find them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

from headrace.engine.announced import announced, entries
from headrace.errors import KafkaNotRunningError, SeveralBrokersError

if TYPE_CHECKING:
    from pathlib import Path

_KIND = "brokers"
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


def announce(bootstrap: str, data: Path) -> contextlib.AbstractContextManager[None]:
    """Lets other commands find a broker of this process, as long as the block lasts."""
    entry = RunningBroker(bootstrap=bootstrap, pid=os.getpid(), data=str(data))
    return announced(_KIND, bootstrap.replace(":", "-"), asdict(entry))


def running_brokers() -> list[RunningBroker]:
    """Lists the brokers that run, by address."""
    return [RunningBroker(**cast("dict[str, Any]", entry)) for entry in entries(_KIND)]


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
