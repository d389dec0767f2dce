# SPDX-License-Identifier: Apache-2.0
"""What of headrace.local needs no broker."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from headrace.errors import KafkaNotRunningError, PortTakenError, SeveralBrokersError
from headrace.local import Broker
from headrace.local.failure import CAUSES, Cause, find_cause
from headrace.local.keeper import release, start_kept
from headrace.local.ports import HOST, answers, free_ports, is_free
from headrace.local.registry import announce, find_broker, running_brokers
from headrace.local.storage import as_properties, write_private
from headrace.testing import eventually

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, so that brokers of this machine's user do not show."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


class TestPorts:
    def test_free_ports_are_different_and_free(self) -> None:
        ports = free_ports(20)
        assert len(set(ports)) == 20
        assert all(map(is_free, ports))

    def test_a_port_that_a_server_listens_on_is_not_free(self) -> None:
        with socket.create_server((HOST, 0)) as server:
            port = server.getsockname()[1]
            assert answers(port)
            assert not is_free(port)
        assert not answers(port)

    def test_a_broker_names_a_taken_port_before_it_starts_a_jvm(self, tmp_path: Path) -> None:
        with socket.create_server((HOST, 0)) as server:
            port = server.getsockname()[1]
            with pytest.raises(PortTakenError) as caught:
                Broker(port=port, data=tmp_path / "data").start()
        assert caught.value.parameters == {"port": str(port)}
        assert not (tmp_path / "data").exists()


class TestStorage:
    def test_properties_escape_what_java_would_misread(self) -> None:
        text = as_properties({"path": "C:\\données", "face": "\N{GRINNING FACE}", "plain": "a=b:c #!"})
        assert text == "path=C:\\\\donn\\u00e9es\nface=\\ud83d\\ude00\nplain=a=b:c #!\n"

    def test_settings_are_readable_by_their_owner_only(self, tmp_path: Path) -> None:
        path = tmp_path / "server.properties"
        path.write_text("old")
        write_private(path, "new")
        assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o600)


class TestFailure:
    @pytest.mark.parametrize("cause", CAUSES, ids=lambda cause: cause.sign)
    def test_a_known_cause_is_found_by_its_sign(self, tmp_path: Path, cause: Cause) -> None:
        (tmp_path / "server.log").write_text(f"WARN all is well\nERROR java.io: {cause.sign}, sorry\n")
        assert find_cause(tmp_path) is cause

    def test_an_unknown_cause_is_quoted(self, tmp_path: Path) -> None:
        (tmp_path / "console.log").write_text("hello\nError: Could not find or load main class kafka.Kafka\n")
        assert "Could not find or load main class" in find_cause(tmp_path).reason

    def test_silence_is_called_silence(self, tmp_path: Path) -> None:
        assert find_cause(tmp_path).reason == "it ended without a word"


class TestRegistry:
    def test_a_broker_is_found_while_it_is_announced(self, cache: Path, tmp_path: Path) -> None:
        with announce("127.0.0.1:1234", tmp_path):
            assert find_broker().bootstrap == "127.0.0.1:1234"
            assert find_broker(1234).pid == os.getpid()
            with pytest.raises(KafkaNotRunningError):
                find_broker(234)
        assert running_brokers() == []
        assert list(cache.glob("brokers/*.json")) == []

    def test_of_several_brokers_one_has_to_be_named(self, cache: Path, tmp_path: Path) -> None:
        del cache
        with announce("127.0.0.1:1", tmp_path), announce("127.0.0.1:2", tmp_path):
            with pytest.raises(SeveralBrokersError):
                find_broker()
            assert find_broker(2).bootstrap == "127.0.0.1:2"

    def test_what_a_killed_process_left_behind_is_no_broker(self, cache: Path, tmp_path: Path) -> None:
        program = (
            "import os, pathlib; from headrace.local.registry import announce\n"
            f"with announce('127.0.0.1:3', pathlib.Path({str(tmp_path)!r})): os._exit(9)"
        )
        assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 9
        assert len(list(cache.glob("brokers/*.json"))) == 1
        assert running_brokers() == []


class TestKeeper:
    def test_a_child_and_its_folder_end_with_a_killed_parent(self, tmp_path: Path) -> None:
        folder = tmp_path / "folder"
        folder.mkdir()
        program = (
            "import os, pathlib; from headrace.local.keeper import start_kept\n"
            f"folder = pathlib.Path({str(folder)!r})\n"
            "child = start_kept(['sleep', '1000'], cwd=folder, output=folder / 'out', remove=folder)\n"
            "print(child.pid, flush=True); os._exit(9)"
        )
        done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
        pid = int(done.stdout)
        eventually(lambda: not folder.exists())
        eventually(lambda: not is_running(pid))

    def test_a_released_child_leaves_its_folder(self, tmp_path: Path) -> None:
        child = start_kept(["true"], cwd=tmp_path, output=tmp_path / "out", remove=tmp_path)
        assert child.wait(30) == 0
        release(child)
        # The watcher is the last of its group.
        eventually(lambda: not group_exists(child.pid))
        assert tmp_path.exists()

    def test_the_child_is_the_process_that_was_asked_for(self, tmp_path: Path) -> None:
        child = start_kept(["sh", "-c", "echo $$"], cwd=tmp_path, output=tmp_path / "out", remove=None)
        child.wait(30)
        release(child)
        assert int((tmp_path / "out").read_text()) == child.pid


def is_running(pid: int) -> bool:
    """Says whether a process runs; one that ended and was not yet collected does not."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], check=False, capture_output=True, text=True)  # noqa: S607
    return done.stdout.strip() not in ("", "Z", "Z+", "Zs")


def group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
