# SPDX-License-Identifier: Apache-2.0
"""Decides whether a request may be answered."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote

from headrace.dashboard.address import is_loopback

if TYPE_CHECKING:
    from email.message import Message


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """What a request must bring.

    Attributes:
        port: Part of the cookie's name: cookies of one host are shared by all its ports.
        token: What has to be known; ``None`` where only this machine can ask.
    """

    port: int
    token: str | None

    @property
    def cookie_name(self) -> str:
        """Under which a browser keeps the token."""
        return f"headrace-{self.port}"

    def refusal(self, headers: Message[str, str], *, is_page: bool) -> str | None:
        """Says why a request is refused, or nothing.

        Args:
            headers: Those of the request.
            is_page: Whether it is for the page itself, which a link from elsewhere may open; data it may not read.
        """
        if self.token is None and not is_loopback(_host(headers.get("Host") or "")):
            # A page of somebody else's, whose name now leads to this machine, would otherwise be of our origin.
            return "this address answers only requests to localhost"
        if not is_page and headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            return "only the dashboard itself may read this"
        if self.token is not None and not self._knows_token(headers):
            return "the token is missing; use the whole address that `headrace run` printed"
        return None

    def is_token(self, given: str) -> bool:
        """Says whether this is the token, in a time that does not tell how much of it is right."""
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())

    def token_in(self, query: str) -> str | None:
        """Returns the right token out of an address, if it is there."""
        return next((given for given in parse_qs(query).get("token", []) if self.is_token(given)), None)

    def _knows_token(self, headers: Message[str, str]) -> bool:
        kind, _, given = (headers.get("Authorization") or "").partition(" ")
        if kind.lower() == "bearer" and self.is_token(given.strip()):
            return True
        try:
            cookie = SimpleCookie(headers.get("Cookie") or "").get(self.cookie_name)
        except CookieError:
            return False
        return cookie is not None and self.is_token(unquote(cookie.value))


def _host(header: str) -> str:
    """The name in a Host header, without the port; a tunnel may end at another one."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower()
