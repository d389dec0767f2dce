# SPDX-License-Identifier: Apache-2.0
"""`headrace kafka` and `headrace topics`, as their users call them."""

from __future__ import annotations

import io
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.cli.main import main
from headrace.engine.cache import cache_folder
from headrace.errors import PortTakenError
from headrace.local.ports import answers
from headrace.testing import Kafka, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADRACE = [sys.executable, "-m", "headrace.cli.main"]


def port_of(bootstrap: str) -> int:
    return int(bootstrap.rpartition(":")[2])


@pytest.fixture
def own_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache with the real jars and no other user's brokers."""
    for shared in ("jars", "kafka-broker"):
        (tmp_path / shared).symlink_to(cache_folder(shared))
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))


@pytest.fixture
def started(own_registry: None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A `headrace kafka start --port 0`, with the address that it printed."""
    del own_registry
    with subprocess.Popen(
        [*HEADRACE, "kafka", "start", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert re.fullmatch(r"ready 127\.0\.0\.1:\d+\n", line)
        yield process, line.split()[1]
        process.kill()


class TestCommands:
    def test_a_second_start_on_the_same_port_is_refused(
        self, started: tuple[subprocess.Popen[str], str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        _, bootstrap = started
        assert main(["kafka", "start", "--port", str(port_of(bootstrap))]) == 1
        assert f"[{PortTakenError.condition}]" in capsys.readouterr().err
        assert main(["topics"]) == 0

    def test_status_and_stop_find_it(
        self, started: tuple[subprocess.Popen[str], str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        process, bootstrap = started
        assert main(["kafka", "status"]) == 0
        assert capsys.readouterr().out.startswith(f"running {bootstrap} (process {process.pid}, data in ")
        assert main(["kafka", "stop"]) == 0
        assert capsys.readouterr().out == f"stopped {bootstrap}\n"
        assert not answers(port_of(bootstrap))
        assert main(["kafka", "status"]) == 1
        # One line was all it printed, and being stopped is its ordinary end.
        assert process.communicate(timeout=30) == ("", "")
        assert process.returncode == 0

    def test_ctrl_c_ends_it_in_good_order(
        self, started: tuple[subprocess.Popen[str], str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        process, bootstrap = started
        assert main(["kafka", "status"]) == 0
        data = data_folder(capsys.readouterr().out)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == ("", "")
        assert process.returncode == 0
        assert not answers(port_of(bootstrap))
        assert not data.exists()

    def test_killing_it_takes_the_broker_and_its_records_along(
        self, started: tuple[subprocess.Popen[str], str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        process, bootstrap = started
        assert main(["kafka", "status"]) == 0
        data = data_folder(capsys.readouterr().out)
        assert data.exists()
        process.kill()
        eventually(lambda: not answers(port_of(bootstrap)))
        eventually(lambda: not data.exists())
        assert main(["kafka", "status"]) == 1

    def test_lines_go_in_and_come_out(
        self, kafka: Kafka, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        at = ["--bootstrap", kafka.bootstrap]
        topic = f"{kafka.topic()}-lines"
        assert main(["topics", *at, "create", topic, "--partitions", "1", "--config", "retention.ms=60000"]) == 0
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("k1:eins\nk2:zwölf\nkeyless\n".encode())))
        assert main(["produce", topic, "--key-separator", ":", *at]) == 0
        assert capsysbinary.readouterr().err == f"wrote 3 records to {topic}\n".encode()

        assert main(["tail", topic, "--from-beginning", "--to-end", "--key-separator", "=", *at]) == 0
        assert capsysbinary.readouterr().out.decode() == "k1=eins\nk2=zwölf\nnull=keyless\n"
        assert main(["tail", topic, "--from-beginning", "--max", "2", *at]) == 0
        assert capsysbinary.readouterr().out.decode() == "eins\nzwölf\n"

        assert main(["topics", "describe", topic, *at]) == 0
        lines = capsysbinary.readouterr().out.decode().splitlines()
        assert lines[1].split() == ["0", "0", "3"]
        assert "retention.ms=60000" in lines
        assert main(["topics", "delete", topic, *at]) == 0
        assert topic not in kafka.topics.names()

    def test_tail_ends_quietly_when_nobody_reads_on(self, kafka: Kafka) -> None:
        topic = kafka.topic()
        kafka.produce(topic, [f"{n:>1000}" for n in range(1000)])
        command = [*HEADRACE, "tail", topic, "--from-beginning", "--bootstrap", kafka.bootstrap]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait(30) == 0

    def test_tail_ends_with_ctrl_c(self, kafka: Kafka) -> None:
        topic = kafka.topic()
        kafka.produce(topic, ["here"])
        command = [*HEADRACE, "tail", topic, "--from-beginning", "--bootstrap", kafka.bootstrap]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"here\n"
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=30) == (b"", b"")
            assert process.returncode == 130


def data_folder(status: str) -> Path:
    found = re.search(r"data in (.+)\)", status)
    assert found is not None
    return Path(found[1])
