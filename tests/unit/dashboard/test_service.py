# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import socket
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from headrace.cli.main import main
from headrace.dashboard.address import TOKEN_VARIABLE, Address, as_url
from headrace.dashboard.registry import running_applications
from headrace.dashboard.service import Companion, Dashboard
from headrace.errors import DashboardAddressError
from headrace.observe.feed import Feed
from tests.unit.observe.documents import document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, so that applications of this machine's user do not show."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def dashboard() -> Iterator[Dashboard]:
    """One that is open."""
    made = Dashboard(Address(port=0), "app.py", Feed(document))
    made.open()
    yield made
    made.close()


class TestAddress:
    def test_a_host_and_a_port(self) -> None:
        assert Address.parse("0.0.0.0:80") == Address(host="0.0.0.0", port=80)  # noqa: S104 nothing listens
        assert Address.parse(":80") == Address(host="127.0.0.1", port=80)
        assert Address.parse("[::1]:80") == Address(host="::1", port=80)

    @pytest.mark.parametrize("text", ["", "80", "host", "host:", "host:x", "host:99999", ":-1"])
    def test_what_is_none_is_refused(self, text: str) -> None:
        with pytest.raises(DashboardAddressError):
            Address.parse(text)

    @pytest.mark.parametrize(("host", "needs"), [("127.0.0.1", False), ("::1", False), ("0.0.0.0", True), ("h", True)])  # noqa: S104
    def test_a_token_is_needed_where_others_can_ask(self, host: str, needs: bool) -> None:  # noqa: FBT001 a case
        assert (Address(host=host).token() is not None) is needs

    def test_the_token_of_the_environment_wins(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(TOKEN_VARIABLE, "mine")
        assert Address(host="h").token() == "mine"

    def test_a_port_is_looked_for_where_none_is_named(self) -> None:
        assert Address().free_port() in range(1024, 65536)
        assert Address(port=0).free_port() in range(1024, 65536)
        assert Address(port=80).free_port() is None

    def test_the_first_port_is_tried_before_all_others(self) -> None:
        assert Address(first_port=8000).ports == [8000, *Address().ports]
        assert Address(port=0, first_port=8000).ports == [8000, 0]

    def test_a_url_is_one_that_can_be_typed(self) -> None:
        assert as_url("127.0.0.1", 7440) == "http://127.0.0.1:7440/"
        assert as_url("::1", 7440, "t") == "http://[::1]:7440/?token=t"
        assert as_url("h", 7440, "a&b c") == "http://h:7440/?token=a%26b%20c"
        assert as_url("0.0.0.0", 1) == f"http://{socket.gethostname()}:1/"  # noqa: S104 nothing listens


class TestDashboard:
    def test_it_is_found_while_it_is_open_and_only_by_its_owner(self, cache: Path) -> None:
        made = Dashboard(Address(port=0), "app.py", Feed(document))
        made.open()
        (found,) = running_applications()
        assert (found.name, found.url) == ("app.py", made.url)
        (file,) = cache.glob("applications/*.json")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        made.close()
        assert running_applications() == []

    def test_what_a_killed_process_left_behind_is_ignored(self) -> None:
        program = (
            "import os; from headrace.dashboard.registry import announce\n"
            "with announce('gone.py', 'http://127.0.0.1:1/', None): os._exit(9)"
        )
        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 9
        assert running_applications() == []

    def test_an_address_that_is_taken_is_a_warning_and_not_the_end(self, capsys: pytest.CaptureFixture[str]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            companion = Companion("app.py", Address(port=taken.getsockname()[1]))
            companion.start()
            companion.stop()
        said = capsys.readouterr().err
        assert "headrace: no dashboard: [DASHBOARD_ADDRESS]" in said
        assert "Nothing was started" not in said

    def test_a_port_that_somebody_took_meanwhile_is_replaced(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            made = Dashboard(Address(first_port=port), "app.py", Feed(document))
            made.open()
            made.close()
        assert made.url not in ("", as_url("127.0.0.1", port))

    def test_a_second_spark_of_an_application_shows_on_the_same_dashboard(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        companion = Companion("app.py", Address(port=0))
        companion.start()
        companion.start()
        assert capsys.readouterr().err.count("headrace: dashboard at http://127.0.0.1:") == 1
        companion.stop()


class TestTop:
    def test_it_shows_what_runs_on_this_machine(self, dashboard: Dashboard, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["top", "--once"]) == 0
        text = capsys.readouterr().out
        assert "fraud" in text
        assert dashboard.url in text
        assert "\x1b" not in text

    def test_it_shows_what_is_named(self, dashboard: Dashboard, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["top", dashboard.url.removeprefix("http://").rstrip("/")]) == 0
        assert "alerts  running" in capsys.readouterr().out

    @pytest.mark.parametrize(("words", "condition"), [([], "NOTHING_RUNS"), (["127.0.0.1:1"], "NOT_ANSWERING")])
    def test_when_there_is_nothing_to_show_it_says_so(
        self, words: list[str], condition: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["top", *words]) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        (line,) = captured.err.splitlines()
        assert line.startswith(f"headrace top: [{condition}] ")
