# SPDX-License-Identifier: Apache-2.0
"""Asks a dashboard of another process, as its page does."""

from __future__ import annotations

import urllib.error
import urllib.request
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from headrace.dashboard.server import SNAPSHOT
from headrace.errors import NotAnsweringError
from headrace.observe.snapshot import Snapshot

_PATIENCE_S = 10
# An application on this machine is not behind a proxy, and one elsewhere was named by its own address.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True, kw_only=True, slots=True)
class Client:
    """Where to ask, and with which token."""

    url: str
    token: str | None = None

    @classmethod
    def parse(cls, address: str) -> Client:
        """Takes an address as `headrace run` prints it, or only host and port."""
        parts = urlsplit(address if "://" in address else f"http://{address}")
        token = parse_qs(parts.query).get("token", [None])[0]
        return cls(url=f"{parts.scheme}://{parts.netloc}/", token=token)

    def snapshot(self) -> Snapshot:
        """Returns what the application says now.

        Raises:
            NotAnsweringError: Nobody answers there, or something else does.
        """
        request = urllib.request.Request(f"{self.url.rstrip('/')}{SNAPSHOT}")  # noqa: S310 checked below
        if request.type not in ("http", "https"):
            raise NotAnsweringError(address=self.url, reason="its address must begin with http://")
        if self.token is not None:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with _OPENER.open(request, timeout=_PATIENCE_S) as answer:
                return Snapshot.read(answer.read().decode())
        except urllib.error.HTTPError as refused:
            words = refused.read().decode(errors="replace").strip()
            raise NotAnsweringError(address=self.url, reason=words or refused) from refused
        except (OSError, ValueError) as cause:
            raise NotAnsweringError(address=self.url, reason=cause) from cause
