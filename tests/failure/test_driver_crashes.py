# SPDX-License-Identifier: Apache-2.0
"""Progress survives crashes: at each point of its protocol the driver is ended as by kill -9, and started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.testing import eventually
from tests.integration.recorded import PATIENCE, offset_recorded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.testing import Kafka

HEADRACE_RUN = (sys.executable, "-m", "headrace.cli.main", "run")
COPIER = Path(__file__).with_name("copier.py")
pytestmark = pytest.mark.timeout(300)


class Copies:
    """Runs of the copying application, one at a time."""

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        self.kafka = kafka
        self.source, self.sink = kafka.topic("in", partitions=1), kafka.topic("out", partitions=1)
        self.checkpoint = str(folder / "checkpoint")
        self._log = folder / "log"
        self._runs: list[subprocess.Popen[bytes]] = []

    def start(self, *words: str, epoch: str = "10m", crash: str | None = None) -> subprocess.Popen[bytes]:
        options = [] if crash is None else ["--conf", f"spark.driver.extraJavaOptions=-Dheadrace.crash={crash}"]
        application = [str(COPIER), self.kafka.bootstrap, self.source, self.sink, self.checkpoint, epoch, *words]
        with self._log.open("ab") as log:
            run = subprocess.Popen(
                [*HEADRACE_RUN, "--conf", "spark.ui.enabled=false", *options, *application],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._runs.append(run)
        return run

    def recorded(self) -> int:
        return offset_recorded(self.kafka, self.checkpoint, self.source)

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def await_all(self, values: list[str]) -> Counter[bytes | None]:
        """Waits until each value was copied; returns how often each was."""
        wanted = {value.encode() for value in values}
        eventually(lambda: wanted <= set(self.kafka.values(self.sink)), PATIENCE * 2)
        return Counter(self.kafka.values(self.sink))

    def await_or_end(self, run: subprocess.Popen[bytes], number: int) -> None:
        """Waits until so many values were copied, or the run has ended."""
        eventually(lambda: run.poll() is not None or len(self.kafka.values(self.sink)) >= number, PATIENCE * 2)

    def end(self) -> None:
        for run in self._runs:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()


@pytest.fixture
def copies(kafka: Kafka, tmp_path: Path) -> Iterator[Copies]:
    made = Copies(kafka, tmp_path)
    yield made
    made.end()


# On this machine an application takes ten seconds to start: some combinations are for `make soak`.
@pytest.mark.parametrize(
    ("point", "epoch", "words"),
    [
        pytest.param("progress-due:2", "10m", (), marks=pytest.mark.soak),
        ("progress-sent:2", "10m", ("python",)),
        pytest.param("progress-recorded:2", "10m", (), marks=pytest.mark.soak),
        ("epoch-written:1", "2s", ()),
        pytest.param("epoch-recorded:1", "2s", ("python",), marks=pytest.mark.soak),
    ],
)
def test_a_crash_loses_nothing_and_repeats_only_what_was_not_recorded(
    copies: Copies, point: str, epoch: str, words: tuple[str, ...]
) -> None:
    run = copies.start(*words, epoch=epoch, crash=point)
    values = [f"value {number}" for number in range(200)]
    sent = 0
    # Goes on sending until it has crashed, so that every point is met with records on their way.
    while run.poll() is None and sent < len(values):
        copies.kafka.produce(copies.source, values[sent : sent + 5])
        sent += 5
        copies.await_or_end(run, sent)
    eventually(lambda: run.poll() is not None, PATIENCE)
    before = copies.recorded()
    copies.start(*words, epoch="10m")
    copies.kafka.produce(copies.source, ["last"])
    counts = copies.await_all([*values[:sent], "last"])
    # Offsets and values have the same numbers here.
    assert all(counts[values[number].encode()] == 1 for number in range(max(before, 0)))
    assert before <= sent


def test_a_run_that_was_away_can_record_nothing_when_it_comes_back(copies: Copies) -> None:
    """The one that was started meanwhile has taken over; the other ends and says so."""
    away = copies.start()
    copies.kafka.produce(copies.source, ["a", "b"])
    eventually(lambda: copies.recorded() == 2, PATIENCE * 2)
    os.killpg(away.pid, signal.SIGSTOP)
    copies.start()
    copies.kafka.produce(copies.source, ["c", "d", "e"])
    eventually(lambda: copies.recorded() == 5, PATIENCE * 2)
    os.killpg(away.pid, signal.SIGCONT)
    copies.kafka.produce(copies.source, ["f"])
    eventually(lambda: away.poll() is not None, PATIENCE * 2)
    assert "PROGRESS_NOT_RECORDED" in copies.log()
    eventually(lambda: copies.recorded() == 6, PATIENCE)
    counts = copies.await_all(["a", "b", "c", "d", "e", "f"])
    assert counts[b"a"] == counts[b"b"] == 1


def test_a_run_that_is_told_to_end_drains_its_queries(copies: Copies) -> None:
    """As Kubernetes, systemd and `kill` tell it."""
    run = copies.start()
    copies.kafka.produce(copies.source, ["a", "b", "c"])
    copies.await_all(["a", "b", "c"])
    copies.kafka.produce(copies.source, ["d"])
    run.terminate()
    eventually(lambda: run.poll() is not None, PATIENCE * 2)
    assert run.returncode == -signal.SIGTERM
    assert "is drained" in copies.log()
    copies.start()
    copies.kafka.produce(copies.source, ["e"])
    counts = copies.await_all(["a", "b", "c", "d", "e"])
    assert set(counts.values()) == {1}
