# SPDX-License-Identifier: Apache-2.0
"""The application in one mode: started, warmed up, listened to for one window, and stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from app.desk import Desk
from app.matching import is_in_turn
from app.tap import Tap
from engines.engine import CannotError, Command
from harness.machine import Reading
from harness.running import PATIENCE_S, Running

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.desk import Query
    from app.matching import Span
    from app.tap import Catch

CHILD = Path(__file__).with_name("child.py")
START_S = 240
ANSWER_S = 120
# What a query has not answered so long after the window, it has dropped.
DRAIN_S = 5
STEP_S = 0.1


class NoResultError(Exception):
    """There is nothing to measure; the message says what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """How to run an application.

    Attributes:
        words: The application and its arguments.
        warm_up_s: How long it runs before the window.
        window_s: How long it is measured.
        patience_s: How long to wait for the first input.
    """

    words: list[str]
    warm_up_s: float
    window_s: float
    patience_s: float


@dataclass(frozen=True, slots=True)
class Heard:
    """What was heard of one query.

    Attributes:
        query: The query.
        catch: All its inputs and outputs, from its first input on.
        slots: How many slots it held.
    """

    query: Query
    catch: Catch
    slots: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What came of a mode.

    Attributes:
        mode: The mode.
        why_not: Why there is nothing to see; empty if there is.
        window: The measured time.
        cpu: Who used how much of the processors in it.
        queries: What was heard.
        unmeasured: Queries that are not from Kafka to Kafka, with the reason.
    """

    mode: str
    why_not: str = ""
    window: Span = (0.0, 0.0)
    cpu: dict[str, float] = field(default_factory=dict)
    queries: list[Heard] = field(default_factory=list)
    unmeasured: list[str] = field(default_factory=list)


class Application(Running):
    """The application's process. It knows nothing of us, so it is ended as its user would end it: by Ctrl-C."""

    def __exit__(self, *_: object) -> None:
        """Stops the process: politely first, then at once."""
        if self.is_alive():
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.kill()


class Trial:
    """One mode of an application."""

    def __init__(self, mode: str, plan: Plan, folder: Path, say: Callable[[str], None]) -> None:
        """Takes a folder that exists, for everything that the run leaves behind."""
        self._mode = mode
        self._plan = plan
        self._folder = folder
        self._say = say
        self._desk = Desk(folder, mode)
        self._taps: list[Tap] = []

    def run(self) -> Outcome:
        """Runs the application until its window is over.

        Raises:
            NoResultError: There was nothing to measure.
        """
        words = [sys.executable, str(CHILD), "--desk", str(self._folder), "--mode", self._mode, *self._plan.words]
        with ExitStack() as stack:
            stack.callback(self._desk.close)
            self._stack = stack
            self._process = stack.enter_context(Application(Command(words), self._folder / "log"))
            try:
                return self._measure()
            except CannotError as reason:
                return Outcome(mode=self._mode, why_not=str(reason), unmeasured=self._desk.unmeasured)

    def _measure(self) -> Outcome:
        self._say(f"  {self._mode}: starting")
        self._await(lambda: bool(self._taps), START_S, self._no_query)
        self._await(lambda: all(tap.heard.input_count for tap in self._taps), self._plan.patience_s, self._no_input)
        self._await(lambda: all(tap.heard.output_count for tap in self._taps), ANSWER_S, self._no_output)
        self._say(f"  {self._mode}: warm-up of {self._plan.warm_up_s:.0f} s")
        self._listen(self._plan.warm_up_s)
        self._say(f"  {self._mode}: window of {self._plan.window_s:.0f} s")
        before, begin_s = Reading.now(self._process.pid, [self._process.pid]), time.time()
        self._listen(self._plan.window_s)
        end_s, after = time.time(), Reading.now(self._process.pid, [self._process.pid])
        self._drain(end_s)
        return Outcome(
            mode=self._mode,
            window=(begin_s, end_s),
            cpu=before.until(after),
            queries=[
                Heard(query, tap.heard, self._desk.slots(query))
                for query, tap in zip(self._desk.queries, self._taps, strict=True)
            ],
            unmeasured=self._desk.unmeasured,
        )

    def _await(self, condition: Callable[[], bool], patience_s: float, complaint: Callable[[], str]) -> None:
        deadline = time.monotonic() + patience_s
        while not condition():
            if time.monotonic() > deadline:
                raise NoResultError(complaint())
            self._step()

    def _listen(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._step()

    def _drain(self, end_s: float) -> None:
        deadline = time.monotonic() + DRAIN_S
        while time.monotonic() < deadline:
            if all(is_in_turn(tap.heard.inputs, tap.heard.outputs, end_s) for tap in self._taps):
                return
            self._step()

    def _step(self) -> None:
        for query in self._desk.serve():
            tap = Tap(query.client, query.sources, query.sink, query.partitions)
            self._taps.append(self._stack.enter_context(tap))
            self._desk.admit(query)
        for tap in self._taps:
            tap.take()
        # In this order: it may end between the two, and then the desk knows more.
        is_alive = self._process.is_alive()
        if failure := self._desk.failure():
            raise CannotError(failure)
        if not is_alive:
            raise CannotError(self._process.failure())
        time.sleep(STEP_S)

    def _no_query(self) -> str:
        reasons = "; ".join(self._desk.unmeasured) or "it started none at all"
        return f"The application started no query from Kafka to Kafka within {START_S} s: {reasons}."

    def _no_input(self) -> str:
        silent = [", ".join(query.sources) for query, tap in self._pairs() if not tap.heard.input_count]
        return (
            f"No record came in on {'; '.join(silent)} within {self._plan.patience_s:.0f} s, and it is live traffic "
            "that is measured. Start the producer, then try again; --patience waits longer."
        )

    def _no_output(self) -> str:
        silent = [query.name for query, tap in self._pairs() if not tap.heard.output_count]
        return f"Records came in, but in {ANSWER_S} s no result came out: {'; '.join(silent)}."

    def _pairs(self) -> list[tuple[Query, Tap]]:
        return list(zip(self._desk.queries, self._taps, strict=True))
