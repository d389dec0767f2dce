# SPDX-License-Identifier: Apache-2.0
"""Settings of Kafka's Java client, as Spark takes them, in the words of the client that listens in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "kafka."
BOOTSTRAP = "bootstrap.servers"
_SAME = ("security.protocol", "sasl.mechanism", "ssl.endpoint.identification.algorithm")
_RENAMED = {"ssl.truststore.location": "ssl.ca.location", "ssl.truststore.certificates": "ssl.ca.pem"}
_LOGIN = "sasl.jaas.config"
_TRUST_TYPE = "ssl.truststore.type"
_ABOUT_ACCESS = ("security.", "sasl.", "ssl.")


class UntranslatableError(Exception):
    """A setting has no counterpart; the message names it."""


def client_settings(options: Mapping[str, str]) -> dict[str, str]:
    """Returns how to reach the cluster that a query reaches with some options.

    Raises:
        UntranslatableError: One of them is about access and has no counterpart here.
    """
    java = {key.removeprefix(PREFIX): value for key, value in options.items() if key.startswith(PREFIX)}
    if BOOTSTRAP not in java:
        message = "it names no address of a broker"
        raise UntranslatableError(message)
    settings = {BOOTSTRAP: java[BOOTSTRAP]}
    for key, value in java.items():
        if key.startswith(_ABOUT_ACCESS):
            settings.update(_translated(key, value, java))
    return settings


def _translated(key: str, value: str, java: Mapping[str, str]) -> dict[str, str]:
    if key in _SAME:
        return {key: value or "none"}
    # A store in Java's own form cannot be read here.
    if key in _RENAMED and java.get(_TRUST_TYPE, "").upper() == "PEM":
        return {_RENAMED[key]: value}
    if key == _TRUST_TYPE and value.upper() == "PEM":
        return {}
    if key == _LOGIN:
        found = {name: re.search(rf'\b{name}="([^"]*)"', value) for name in ("username", "password")}
        if all(found.values()):
            return {f"sasl.{name}": match[1] for name, match in found.items() if match}
    message = f"the consumer that listens in does not understand its option {PREFIX}{key}"
    raise UntranslatableError(message)
