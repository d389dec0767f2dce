# SPDX-License-Identifier: Apache-2.0
"""Runs of an application that copies a topic, for tests that end it in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.testing import eventually
from tests.integration.recorded import PATIENCE, offset_recorded

if TYPE_CHECKING:
    from headrace.testing import Kafka

HEADRACE_RUN = (sys.executable, "-m", "headrace.cli.main", "run")
COPIER = Path(__file__).with_name("copier.py")


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

    def await_all(self, values: list[str], *, committed: bool = False) -> Counter[bytes | None]:
        """Waits until each value was copied; returns how often each was."""
        wanted = {value.encode() for value in values}
        self.kafka.read_until(
            self.sink,
            lambda records: wanted <= {record.value for record in records},
            committed=committed,
            timeout=PATIENCE * 2,
        )
        return Counter(self.kafka.values(self.sink, committed=committed))

    def feed(self, run: subprocess.Popen[bytes], values: list[str], *, committed: bool = False) -> int:
        """Sends values, a few at a time, until a run has ended; returns how many were sent.

        So every point of the run is met with records on their way.
        """
        sent = 0
        while run.poll() is None and sent < len(values):
            self.kafka.produce(self.source, values[sent : sent + 5])
            sent += 5
            self._await_or_end(run, sent, committed=committed)
        eventually(lambda: run.poll() is not None, PATIENCE)
        return sent

    def _await_or_end(self, run: subprocess.Popen[bytes], number: int, *, committed: bool) -> None:
        def copied() -> int:
            return len(self.kafka.values(self.sink, committed=committed))

        eventually(lambda: run.poll() is not None or copied() >= number, PATIENCE * 2)

    def end(self) -> None:
        for run in self._runs:
            if run.poll() is None:
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()
