# SPDX-License-Identifier: Apache-2.0
"""The application of these tests, as `headrace run` runs it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from headrace.testing import eventually

if TYPE_CHECKING:
    from headrace.testing import Kafka

HEADRACE = (sys.executable, "-m", "headrace.cli.main")
APPLICATION = Path(__file__).with_name("application.py")
PATIENCE = timedelta(seconds=120)


@dataclass(frozen=True, kw_only=True, slots=True)
class Copy:
    """A query that copies a topic."""

    name: str
    source: str
    sink: str
    checkpoint: str
    strict: bool = True


class Running:
    """A running application.

    Args:
        kafka: Where its topics are.
        folder: For checkpoints and the log.
        options: Of `headrace run`.
    """

    def __init__(self, kafka: Kafka, folder: Path, *options: str) -> None:
        self.kafka = kafka
        self._folder = folder
        self._log = folder / "log"
        with self._log.open("ab") as log:
            self.process = psutil.Popen(
                [*HEADRACE, "run", *options, "--conf", "spark.ui.enabled=false", str(APPLICATION), kafka.bootstrap],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )

    @property
    def address(self) -> str:
        """Where it says that its dashboard is."""
        found = eventually(lambda: re.findall(r"^headrace: dashboard at (\S+)$", self.log(), re.MULTILINE), PATIENCE)
        return str(found[-1])

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def copy(self, name: str) -> Copy:
        """Makes the topics of a query, and starts it."""
        source, sink = self.kafka.topic("in", partitions=2), self.kafka.topic("out", partitions=1)
        made = Copy(name=name, source=source, sink=sink, checkpoint=str(self._folder / name))
        self.tell(asdict(made))
        return made

    def tell(self, words: dict[str, object]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(words).encode() + b"\n")
        self.process.stdin.flush()

    def jvm(self) -> psutil.Process:
        """The JVM of its Spark."""
        (found,) = [each for each in self.process.children(recursive=True) if each.name() == "java"]
        return found

    def end(self) -> None:
        """Ends it, and all it started."""
        left = [self.process, *self.process.children(recursive=True)] if self.process.is_running() else []
        for each in left:
            if each.is_running():
                each.send_signal(signal.SIGKILL)
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
