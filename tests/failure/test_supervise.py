# SPDX-License-Identifier: Apache-2.0
"""`headrace run --supervise`: what fails is started again, what cannot work is given up, and nothing is left behind."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from headrace.local.ports import free_ports
from headrace.testing import eventually
from tests.integration.load import Load
from tests.integration.recorded import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.testing import Kafka

SUPERVISE = (sys.executable, "-m", "headrace.cli.main", "run", "--supervise")
COPIER = Path(__file__).with_name("copier.py")
pytestmark = pytest.mark.timeout(300)


class Supervised:
    """A supervised application that copies a topic."""

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        self.kafka = kafka
        self.source, self.sink = kafka.topic("in", partitions=1), kafka.topic("out", partitions=1)
        self._checkpoint = str(folder / "checkpoint")
        self._log = folder / "log"
        (self._port,) = free_ports(1)
        self._runs: list[psutil.Popen] = []

    def start(self) -> psutil.Popen:
        words = [str(COPIER), self.kafka.bootstrap, self.source, self.sink, self._checkpoint, "10m"]
        options = ["--health", f":{self._port}", "--conf", "spark.ui.enabled=false"]
        with self._log.open("ab") as log:
            run = psutil.Popen([*SUPERVISE, *options, *words], stdout=log, stderr=log)
        self._runs.append(run)
        return run

    def ask(self, path: str) -> tuple[int, dict[str, object]]:
        """What it answers over HTTP; 0 when nobody does."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{path}", timeout=5) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)
        except OSError:
            return 0, {}

    def await_ready(self) -> dict[str, object]:
        eventually(lambda: self.ask("/readyz")[0] == HTTPStatus.OK, PATIENCE * 2)
        return self.ask("/readyz")[1]

    def await_values(self, *values: str) -> None:
        wanted = {value.encode() for value in values}
        self.kafka.read_until(self.sink, lambda found: wanted <= {record.value for record in found}, timeout=PATIENCE)

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def end(self) -> None:
        for run in self._runs:
            for process in [*family(run), run] if run.is_running() else []:
                process.kill()
            run.wait()


def family(run: psutil.Process) -> list[psutil.Process]:
    found: list[psutil.Process] = run.children(recursive=True)
    return found


def is_gone(process: psutil.Process) -> bool:
    """Also when nobody has asked how it ended."""
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


@pytest.fixture
def supervised(kafka: Kafka, tmp_path: Path) -> Iterator[Supervised]:
    made = Supervised(kafka, tmp_path)
    yield made
    made.end()


def test_an_application_whose_jvm_is_killed_goes_on_and_its_health_tells(supervised: Supervised) -> None:
    run = supervised.start()
    eventually(lambda: supervised.ask("/healthz")[0] == HTTPStatus.OK, PATIENCE)
    assert supervised.ask("/readyz")[0] == HTTPStatus.SERVICE_UNAVAILABLE
    assert supervised.await_ready() == {"state": "running", "restarts": 0, "last_cause": None}
    supervised.kafka.produce(supervised.source, ["a", "b"])
    supervised.await_values("a", "b")
    (jvm,) = [process for process in family(run) if process.name() == "java"]
    jvm.kill()
    eventually(lambda: supervised.ask("/readyz")[0] == HTTPStatus.SERVICE_UNAVAILABLE, PATIENCE)
    supervised.kafka.produce(supervised.source, ["c"])
    assert supervised.await_ready()["restarts"] == 1
    supervised.await_values("a", "b", "c")
    assert "restart 1 in " in supervised.log()
    assert f" goes on at {supervised.source}-0 " in supervised.log()
    assert "records are read again" in supervised.log() or "nothing is read again" in supervised.log()
    left = family(run)
    run.terminate()
    assert run.wait(PATIENCE.total_seconds()) == -signal.SIGTERM
    assert "is drained" in supervised.log()
    eventually(lambda: all(is_gone(process) for process in left), PATIENCE)


@pytest.mark.soak
def test_a_new_version_takes_over_under_load_and_nothing_is_lost_or_doubled(
    supervised: Supervised, record_property: Callable[[str, object], None]
) -> None:
    old = supervised.start()
    supervised.await_ready()
    with Load(supervised.kafka, supervised.source) as load:
        supervised.await_values("50")
        old.terminate()
        old.wait(PATIENCE.total_seconds())
        new = supervised.start()
        supervised.await_ready()
        supervised.await_values(str(load.sent + 50))
    supervised.await_values(str(load.sent))
    copies = supervised.kafka.read(supervised.sink)
    assert [copy.value for copy in copies] == load.values
    times = [copy.timestamp_ms or 0 for copy in copies]
    record_property("pause_ms", max(later - earlier for earlier, later in itertools.pairwise(times)))
    # A supervisor that is killed takes the application with it.
    left = family(new)
    os.kill(new.pid, signal.SIGKILL)
    eventually(lambda: all(is_gone(process) for process in left), PATIENCE)
    assert "the supervisor is gone" in supervised.log()


REFUSED = """
from pyspark.sql import SparkSession

rows = SparkSession.builder.getOrCreate().readStream.format("rate").load()
rows.writeStream.format("noop").trigger(realTime="5 minutes").start()
"""


@pytest.mark.parametrize(
    ("source", "said"),
    [
        pytest.param("undefined_name", "NameError: name 'undefined_name' is not defined.", id="a mistake"),
        # The query of this process that is refused takes the same way, in a tenth of the time.
        pytest.param(REFUSED, "[SOURCE_UNSUPPORTED]", id="a query that is refused", marks=pytest.mark.soak),
    ],
)
def test_what_cannot_work_is_given_up_at_once(tmp_path: Path, source: str, said: str) -> None:
    script = tmp_path / "wrong.py"
    script.write_text(source)
    finished = subprocess.run([*SUPERVISE, str(script)], capture_output=True, text=True, check=False, timeout=120)
    assert finished.returncode == 1
    assert "[GAVE_UP]" in finished.stderr
    assert said in finished.stderr
    assert "the code or its data must be corrected" in finished.stderr
    assert "restart 1" not in finished.stderr


def test_what_keeps_failing_is_given_up_in_the_end(tmp_path: Path) -> None:
    script = tmp_path / "failing.py"
    script.write_text("raise ConnectionError('nobody there')")
    command = [*SUPERVISE, "--restarts", "1", str(script)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert finished.returncode == 1
    assert "restart 1 in " in finished.stderr
    assert "it failed 2 times in a row" in finished.stderr


def test_what_ends_by_itself_is_done(tmp_path: Path) -> None:
    script = tmp_path / "done.py"
    script.write_text("print('done')")
    finished = subprocess.run([*SUPERVISE, str(script)], capture_output=True, text=True, check=False, timeout=60)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "done\n", "")


def test_a_signal_ends_the_wait_for_the_next_start(tmp_path: Path) -> None:
    script = tmp_path / "failing.py"
    script.write_text("raise ConnectionError('nobody there')")
    with subprocess.Popen([*SUPERVISE, str(script)], stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        # The second wait is of two seconds.
        while "restart 2 in" not in run.stderr.readline():
            assert run.poll() is None
        run.send_signal(signal.SIGINT)
        assert run.wait(30) == -signal.SIGINT
