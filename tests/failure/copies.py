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
    """Runs of the copying application, one at a time.

    Args:
        kafka: Where its topics are.
        folder: For its checkpoint, and its log.
        words: What every run is told (see `copier.py`).
        partitions: How many its source has; its sink has one, which shows the order.
        master: Spark's master; Headrace's own choice if none is given.
        log: Where the log goes if not there.
    """

    def __init__(
        self,
        kafka: Kafka,
        folder: Path,
        *words: str,
        partitions: int = 1,
        master: str | None = None,
        log: Path | None = None,
    ) -> None:
        self.kafka = kafka
        self.source, self.sink = kafka.topic("in", partitions=partitions), kafka.topic("out", partitions=1)
        self._partitions = partitions
        self._words = words
        self._conf = [
            "--conf",
            "spark.ui.enabled=false",
            *([] if master is None else ["--conf", f"spark.master={master}"]),
        ]
        self.checkpoint = str(folder / "checkpoint")
        self._log = log or folder / "log"
        self._runs: list[subprocess.Popen[bytes]] = []

    def start(self, *words: str, epoch: str = "10m", crash: str | None = None) -> subprocess.Popen[bytes]:
        options = [] if crash is None else ["--conf", f"spark.driver.extraJavaOptions=-Dheadrace.crash={crash}"]
        places = [self.kafka.bootstrap, self.source, self.sink, self.checkpoint, epoch]
        with self._log.open("ab") as log:
            run = subprocess.Popen(
                [*HEADRACE_RUN, *self._conf, *options, str(COPIER), *places, *self._words, *words],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._runs.append(run)
        return run

    def recorded(self, partition: int = 0) -> int:
        return offset_recorded(self.kafka, self.checkpoint, self.source, partition)

    def all_recorded(self) -> tuple[int, ...]:
        return tuple(self.recorded(partition) for partition in range(self._partitions))

    def committed(self, epoch: int) -> bool:
        """Whether Spark's own log says so."""
        return Path(self.checkpoint, "commits", str(epoch)).exists()

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
