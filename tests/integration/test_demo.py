# SPDX-License-Identifier: Apache-2.0
"""`make demo`: it ends by itself, says what it found, and leaves nothing behind, however it ends."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.testing import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import RawIOBase

DEMO = Path(__file__).parents[2] / "examples" / "demo"
SHORT = ("--seconds", "5", "--warmup", "2", "--rate", "100")
PATIENCE = timedelta(minutes=8)
INTERRUPTED = 130
pytestmark = pytest.mark.timeout(900)


class Demo:
    """A demo that runs.

    Args:
        folder: Becomes its temporary folder, by which its processes are known.
        arguments: Its arguments.
        on_terminal: Whether its output is a terminal.
        environment: Further variables for it.
    """

    def __init__(self, folder: Path, *arguments: str, on_terminal: bool = False, **environment: str) -> None:
        folder.mkdir()
        self.folder = folder
        self._errors = folder.with_suffix(".errors")
        ours, theirs = pty.openpty() if on_terminal else os.pipe()
        with os.fdopen(theirs, "wb") as output, self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, str(DEMO), *arguments],
                env={**os.environ, "TMPDIR": str(folder), "COLUMNS": "160", "TERM": "xterm", **environment},
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
        self._output: list[str] = []
        self._reader = threading.Thread(target=self._read, args=(os.fdopen(ours, "rb", buffering=0),), daemon=True)
        self._reader.start()

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return "".join(self._output)

    @property
    def errors(self) -> str:
        """What it has printed on stderr so far."""
        return self._errors.read_text()

    def finish(self) -> int:
        """Waits for its end and returns its exit code."""
        code = self.process.wait(PATIENCE.total_seconds())
        self._reader.join()
        return code

    def processes(self) -> list[str]:
        """Lists the processes that belong to it and still run."""
        mark = f"TMPDIR={self.folder}".encode()
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            # It may end while we look, and then the files are gone.
            with contextlib.suppress(OSError):
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200])
        return found

    def _read(self, stream: RawIOBase) -> None:
        # A terminal that nobody writes to any more is an error, not the end of a file.
        with stream, contextlib.suppress(OSError):
            while chunk := stream.read(65536):
                self._output.append(chunk.decode(errors="replace"))


StartDemo = Callable[..., Demo]


@pytest.fixture
def start_demo(tmp_path: Path) -> Iterator[StartDemo]:
    """Starts a demo by name, and ends those that a failed test leaves."""
    demos: list[Demo] = []

    def start(name: str, *arguments: str, on_terminal: bool = False, **environment: str) -> Demo:
        demos.append(Demo(tmp_path / name, *(arguments or SHORT), on_terminal=on_terminal, **environment))
        return demos[-1]

    yield start
    for demo in demos:
        if demo.process.poll() is None:
            demo.process.kill()
            demo.finish()


def assert_nothing_is_left(demo: Demo) -> None:
    assert demo.processes() == []
    assert list(demo.folder.iterdir()) == []


def found_fraud(output: str) -> list[tuple[int, int]]:
    """Reads the row of the last table: found and planted, for both modes."""
    *_, row = re.findall(r"^planted fraud found (.*)$", output, re.MULTILINE)
    return [(int(found), int(planted)) for found, planted in re.findall(r"(\d+) of (\d+)", row)]


def test_two_at_once_end_by_themselves_and_find_the_fraud(start_demo: StartDemo) -> None:
    demos = [start_demo("lines"), start_demo("terminal", on_terminal=True)]
    for demo in demos:
        assert demo.finish() == 0, demo.output + demo.errors
        assert "latency p99.9" in demo.output
        (micro_batch, real_time) = found_fraud(demo.output)
        assert micro_batch == real_time
        assert micro_batch[0] == micro_batch[1] > 0
        assert_nothing_is_left(demo)
    lines = demos[0].output
    steps = [lines.index(f"{mode}  {step}") for mode in ("micro-batch", "real-time") for step in ("warming up", "done")]
    assert steps == sorted(steps)


@pytest.mark.soak
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_good_order(start_demo: StartDemo, number: signal.Signals) -> None:
    demo = start_demo("demo", "--warmup", "600")
    eventually(lambda: "warming up" in demo.output or demo.process.poll() is not None, PATIENCE)
    demo.process.send_signal(number)
    assert demo.finish() == INTERRUPTED, demo.output + demo.errors
    assert_nothing_is_left(demo)


@pytest.mark.soak
def test_nothing_outlives_a_demo_that_was_killed(start_demo: StartDemo) -> None:
    demo = start_demo("demo", "--warmup", "600")
    eventually(lambda: "warming up" in demo.output or demo.process.poll() is not None, PATIENCE)
    assert demo.processes()
    demo.process.kill()
    demo.finish()
    eventually(lambda: not demo.processes(), PATIENCE)


def test_a_failure_names_the_log(start_demo: StartDemo) -> None:
    demo = start_demo("demo", PYSPARK_SUBMIT_ARGS="--conf spark.speculation=true pyspark-shell")
    assert demo.finish() == 1
    assert "ended by itself" in demo.errors
    (log,) = re.findall(r"(\S+\.log)$", demo.errors, re.MULTILINE)
    assert "[SETTING_CONFLICT]" in Path(log).read_text()
    assert demo.processes() == []


@pytest.mark.parametrize("hour", range(24))
def test_every_pattern_is_planted_at_any_hour(monkeypatch: pytest.MonkeyPatch, hour: int) -> None:
    monkeypatch.syspath_prepend(str(DEMO))
    from transactions import make_plan  # noqa: PLC0415 only now it can be found

    now = datetime(2026, 1, 1, hour, 30, tzinfo=UTC)
    plan = make_plan(rate=100, length=timedelta(seconds=20), now=now)
    assert {case.rpartition(" ")[0] for case in plan.cases.values()} == {
        "impossible_travel",
        "card_testing",
        "unusual_at_night",
    }
