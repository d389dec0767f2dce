# SPDX-License-Identifier: Apache-2.0
"""Where a dashboard is served, and who may ask."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import secrets
import socket
from dataclasses import dataclass
from urllib.parse import quote

from headrace.errors import DashboardAddressError

LOOPBACK = "127.0.0.1"
TOKEN_VARIABLE = "HEADRACE_DASHBOARD_TOKEN"  # noqa: S105 the name of a variable, no secret
"""In the environment: the token to ask for. Without it a new one is made at each start."""

# The first free one: a page in a browser finds the next run of its application again.
_USUAL_PORTS = range(7440, 7460)
_ANY_PORT = 0
_LAST_PORT = 65535


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """Where to listen.

    Attributes:
        host: A name or a number of this machine.
        port: ``None`` for a usual one that is free.
        first_port: Tried before all others.
    """

    host: str = LOOPBACK
    port: int | None = None
    first_port: int | None = None

    @classmethod
    def parse(cls, text: str) -> Address:
        """Reads ``HOST:PORT``, or ``:PORT`` for this machine alone.

        Raises:
            DashboardAddressError: It is neither.
        """
        host, colon, port = text.rpartition(":")
        if not (colon and port.isdecimal() and int(port) <= _LAST_PORT):
            raise DashboardAddressError(address=text, reason="it is not of the form HOST:PORT")
        return cls(host=host.strip("[]") or LOOPBACK, port=int(port))

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can ask."""
        return is_loopback(self.host)

    @property
    def ports(self) -> list[int]:
        """What to try, in this order."""
        first = [] if self.first_port is None else [self.first_port]
        return [*first, *([*_USUAL_PORTS, _ANY_PORT] if self.port is None else [self.port])]

    def free_port(self) -> int | None:
        """Returns a port that is free now; ``None`` if one is named, or none is: whoever listens will say why."""
        for port in [] if self.port else self.ports:
            with contextlib.suppress(OSError), socket.create_server((self.host, port), family=self.family) as probe:
                return int(probe.getsockname()[1])
        return None

    @property
    def family(self) -> socket.AddressFamily:
        """How numbers of this form are called."""
        return socket.AF_INET6 if ":" in self.host else socket.AF_INET

    def token(self) -> str | None:
        """Returns what has to be known to read it; nothing where only this machine can ask."""
        if self.is_loopback:
            return None
        return os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(18)


def is_loopback(host: str) -> bool:
    """Says whether a name or number stands for the loopback interface."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def as_url(host: str, port: int, token: str | None = None) -> str:
    """Returns what to type into a browser."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 compared, not bound
        host = socket.gethostname()
    shown = f"[{host}]" if ":" in host else host
    # Its owner may have chosen any characters.
    return f"http://{shown}:{port}/" + (f"?token={quote(token, safe='')}" if token else "")
