# SPDX-License-Identifier: Apache-2.0
"""The dashboard's server, over a real connection: what it answers, and to whom it does not."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
from importlib import resources
from typing import TYPE_CHECKING

import pytest

from headrace.dashboard.address import as_url
from headrace.dashboard.client import Client
from headrace.dashboard.server import Server, _pause
from headrace.errors import NotAnsweringError
from headrace.observe.feed import EVERY_S, Feed
from headrace.testing import eventually
from tests.unit.observe.documents import document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TOKEN = "the-token"  # noqa: S105 of these tests


def serve(token: str | None, answer: str | None = None) -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Feed(lambda: answer), token)
    server.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def near() -> Iterator[Server]:
    """As on the loopback interface, without a token."""
    yield from serve(None, document())


@pytest.fixture
def guarded() -> Iterator[Server]:
    """As when other machines can reach it."""
    yield from serve(TOKEN, document())


@pytest.fixture
def silent() -> Iterator[Server]:
    """With a Spark that does not answer."""
    yield from serve(None)


def ask(
    server: Server, path: str, headers: Mapping[str, str] | None = None
) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.request("GET", path, headers=dict(headers or {}))
    answer = connection.getresponse()
    found = answer.status, answer.headers, answer.read()
    connection.close()
    return found


def test_the_page_and_all_it_refers_to_are_served(near: Server) -> None:
    status, headers, page = ask(near, "/")
    assert status == 200
    assert headers["Content-Type"].startswith("text/html")
    files = set(re.findall(r'(?:href|src)="([\w.]+)"', page.decode()))
    for name in list(files):
        if name.endswith(".js"):
            files |= set(re.findall(r'from "\./([\w.]+)"', ask(near, f"/{name}")[2].decode()))
    assert all(ask(near, f"/{name}")[0] == 200 for name in files)
    assert {"app.js", "base.css", "heatmap.js"} <= files


def test_nothing_comes_from_elsewhere() -> None:
    """No address of another host stands in any file of the page, and the browser is told to ask none."""
    folder = resources.files("headrace.dashboard") / "page"
    for file in folder.iterdir():
        addresses = set(re.findall(r"https?://[^\s\"'`)]+", file.read_text(encoding="utf-8")))
        assert addresses <= {"http://www.w3.org/2000/svg"}, file.name


def test_the_browser_is_told_to_be_careful(near: Server) -> None:
    headers = ask(near, "/")[1]
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/none", "/../server.py", "/..%2fserver.py", "/page/index.html", "/%00", "/.js"])
def test_there_is_nothing_else(near: Server, path: str) -> None:
    assert ask(near, path)[0] == 404


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:80", "LOCALHOST:9000", "[::1]:7", "a.localhost"])
def test_this_machine_may_ask_also_through_a_tunnel(near: Server, host: str) -> None:
    assert ask(near, "/snapshot", {"Host": host})[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "10.0.0.1"])
@pytest.mark.parametrize("path", ["/", "/events", "/snapshot", "/metrics"])
def test_a_name_that_somebody_points_at_this_machine_is_refused(near: Server, path: str, host: str) -> None:
    assert ask(near, path, {"Host": host})[0] == 403


@pytest.mark.parametrize("path", ["/events", "/snapshot", "/metrics"])
def test_pages_of_others_may_not_read(near: Server, path: str) -> None:
    assert ask(near, path, {"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert ask(near, "/", {"Sec-Fetch-Site": "cross-site"})[0] == 200


def test_other_machines_need_the_token(guarded: Server) -> None:
    host = {"Host": "spark.example:7440"}
    for path in ("/", "/events", "/snapshot", "/metrics", "/app.js", "/?token=wrong", "/snapshot?token=the-token"):
        assert ask(guarded, path, host)[0] == 403
    assert ask(guarded, "/snapshot", {**host, "Authorization": "Bearer wrong"})[0] == 403
    assert ask(guarded, "/metrics", {**host, "Authorization": f"Bearer {TOKEN}"})[0] == 200


def test_a_browser_keeps_the_token_and_its_address_does_not(guarded: Server) -> None:
    status, headers, _ = ask(guarded, f"/?token={TOKEN}")
    assert (status, headers["Location"]) == (303, "/")
    cookie, *flags = headers["Set-Cookie"].split("; ")
    assert "HttpOnly" in flags
    assert ask(guarded, "/events", {"Cookie": "other=1; " + cookie.replace(TOKEN, "wrong")})[0] == 403
    assert ask(guarded, "/snapshot", {"Cookie": f"other=1; {cookie}"})[0] == 200


@pytest.mark.parametrize("token", ["a b+c", "a&b=c", "a;b,c", 'a#b"%20/?'])
def test_a_token_may_be_of_any_characters(token: str) -> None:
    with contextlib.contextmanager(serve)(token, document()) as server:
        url = as_url("127.0.0.1", server.server_port, token)
        assert Client.parse(url).snapshot().queries
        cookie = ask(server, url.removeprefix(f"http://127.0.0.1:{server.server_port}"))[1]["Set-Cookie"]
        assert ask(server, "/snapshot", {"Cookie": cookie.partition(";")[0]})[0] == 200


def test_documents_come_as_they_are(near: Server) -> None:
    assert json.loads(ask(near, "/snapshot")[2]) == json.loads(document())
    assert ask(near, "/metrics")[2].endswith(b"# EOF\n")


def test_a_stream_brings_one_document_after_the_other(near: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", near.server_port, timeout=20)
    connection.request("GET", "/events?every=0.1")
    answer = connection.getresponse()
    assert answer.headers["Content-Type"] == "text/event-stream"
    lines = [answer.readline().decode().strip() for _ in range(8)]
    documents = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    assert len(documents) == 3
    assert all(json.loads(each)["queries"] for each in documents)
    connection.close()


@pytest.mark.parametrize("every", ["1e10", "inf", "-inf", "nan", "x", ""])
def test_a_stream_of_any_pace_hinders_no_other(near: Server, every: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", near.server_port, timeout=20)
    connection.request("GET", f"/events?every={every}")
    answer = connection.getresponse()
    assert any(answer.readline().startswith(b"data: ") for _ in range(4))
    assert ask(near, "/snapshot")[0] == 200
    connection.close()


def test_a_pace_that_is_no_number_is_the_usual_one() -> None:
    assert {_pause(f"every={every}") for every in ("nan", "x", "")} == {EVERY_S}


def test_a_spark_that_does_not_answer_is_said(silent: Server) -> None:
    assert ask(silent, "/snapshot")[0] == 503
    connection = http.client.HTTPConnection("127.0.0.1", silent.server_port, timeout=20)
    connection.request("GET", "/events")
    answer = connection.getresponse()
    lines = [answer.readline() for _ in range(4)]
    assert b"event: silent\n" in lines
    connection.close()


def test_streams_of_those_who_left_are_given_back(near: Server) -> None:
    # An answer that nobody holds takes its connection along.
    open_ones = []
    for _ in range(30):
        connection = http.client.HTTPConnection("127.0.0.1", near.server_port, timeout=20)
        connection.request("GET", "/events?every=0.1")
        open_ones.append((connection, connection.getresponse()))
    assert {answer.status for _, answer in open_ones} == {200, 503}
    for connection, answer in open_ones:
        answer.close()
        connection.close()
    eventually(lambda: near.streams.acquire(blocking=False))


def test_a_client_reads_it_and_says_what_is_wrong(guarded: Server) -> None:
    address = f"127.0.0.1:{guarded.server_port}"
    assert Client.parse(f"http://{address}/?token={TOKEN}").snapshot().queries
    with pytest.raises(NotAnsweringError, match="token is missing"):
        Client.parse(address).snapshot()
    with pytest.raises(NotAnsweringError):
        Client.parse("file:///etc/passwd").snapshot()
    with pytest.raises(NotAnsweringError):
        Client.parse("127.0.0.1:1").snapshot()
