# SPDX-License-Identifier: Apache-2.0
"""The applications of this user on this machine that serve a dashboard, so that `headrace top` finds them."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, cast

from headrace.engine.announced import announced, entries

if TYPE_CHECKING:
    import contextlib

_KIND = "applications"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunningApplication:
    """An application that another process runs.

    Attributes:
        name: What its user calls it: the script.
        url: Where its dashboard is, without the token.
        token: What has to be known to read it.
        pid: Its process.
    """

    name: str
    url: str
    token: str | None
    pid: int


def announce(name: str, url: str, token: str | None) -> contextlib.AbstractContextManager[None]:
    """Lets `headrace top` find this process, as long as the block lasts."""
    pid = os.getpid()
    return announced(_KIND, str(pid), asdict(RunningApplication(name=name, url=url, token=token, pid=pid)))


def running_applications() -> list[RunningApplication]:
    """Lists the applications that run, by name."""
    found = [RunningApplication(**cast("dict[str, Any]", entry)) for entry in entries(_KIND)]
    return sorted(found, key=lambda each: (each.name, each.pid))
