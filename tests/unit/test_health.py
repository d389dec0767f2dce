# SPDX-License-Identifier: Apache-2.0
"""What Kubernetes and systemd hear."""

from __future__ import annotations

import http.client
import json
import socket
from typing import TYPE_CHECKING

import pytest

from headrace.errors import HealthAddressError
from headrace.run.causes import Cause
from headrace.run.health import Health, State

if TYPE_CHECKING:
    from pathlib import Path

CAUSE = Cause(text="broker away")


def ask(health: Health, path: str) -> tuple[int, dict[str, object]]:
    connection = http.client.HTTPConnection("127.0.0.1", health.port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("state", "healthy", "ready"),
    [
        (State.STARTING, 200, 503),
        (State.RUNNING, 200, 200),
        (State.WAITING, 200, 503),
        (State.ENDING, 200, 503),
        (State.GIVEN_UP, 503, 503),
    ],
)
def test_each_state_has_its_answers(state: State, healthy: int, ready: int) -> None:
    with Health(":0") as health:
        health.restarts = 2
        health.now(State.WAITING, CAUSE)
        health.now(state)
        body = {"state": state.value, "restarts": 2, "last_cause": "broker away"}
        assert ask(health, "/healthz") == (healthy, body)
        assert ask(health, "/readyz?verbose") == (ready, body)
        assert ask(health, "/")[0] == 404


@pytest.mark.parametrize("address", ["nowhere", ":x", ":99999", "no.such.host.invalid:1"])
def test_an_address_where_nobody_can_listen_is_an_error(address: str) -> None:
    with pytest.raises(HealthAddressError) as raised:
        Health(address)
    assert raised.value.parameters["address"] == address


def test_systemd_hears_when_it_is_ready_and_when_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(place)
        monkeypatch.setenv("NOTIFY_SOCKET", place)
        with Health(None) as health:
            health.now(State.RUNNING)
            health.now(State.RUNNING)
            health.now(State.ENDING)
        assert systemd.recv(100) == b"STATUS=running\nREADY=1"
        assert systemd.recv(100) == b"STATUS=ending\nSTOPPING=1"
