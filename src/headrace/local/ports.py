# SPDX-License-Identifier: Apache-2.0
"""Ports on the loopback interface."""

from __future__ import annotations

import contextlib
import random
import socket

from headrace.errors import KafkaStartError

HOST = "127.0.0.1"
"""The only interface that a local broker listens on."""

# Below the ranges from which Linux (32768 up) and macOS (49152 up) take the ports of outgoing connections. A port from
# those ranges could be lost while the broker is down: to any client's connection, even to one of a client that tries
# to reach the broker and is connected to itself.
_RANGE = range(15000, 32000)
_ATTEMPTS = 100


def is_free(port: int) -> bool:
    """Says whether a server could listen on a port now."""
    with contextlib.closing(socket.socket()) as probe:
        # As the broker does: a port whose old connections still fade out counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def answers(port: int) -> bool:
    """Says whether something accepts connections on a port."""
    try:
        with socket.create_connection((HOST, port), timeout=1):
            return True
    except OSError:
        return False


def free_ports(count: int) -> list[int]:
    """Picks different ports that are free now; another process may still be faster to take one.

    Raises:
        KafkaStartError: Hardly any port is free.
    """
    candidates = random.sample(_RANGE, _ATTEMPTS)
    free = [port for port in candidates if is_free(port)][:count]
    if len(free) < count:
        raise KafkaStartError(
            reason=f"no free port among {_ATTEMPTS} tried", instead="Close other servers on this machine."
        )
    return free
