# SPDX-License-Identifier: Apache-2.0
"""The stage: several engines run the same workload at once and take turns under load.

Each engine is started once and parked while another is measured; so a noisy machine hurts all alike. The first
stretch of each, in which its JVM compiles, is cut off.
"""

from __future__ import annotations

import fcntl
import math
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engines.engine import CannotError, Job
from harness.contestant import Contestant
from harness.generator import Generator, Stretch
from harness.machine import Reading
from harness.receiver import Receiver
from harness.running import Running
from workloads.catalog import ECHO
from workloads.workload import WrongAnswerError

from headrace.local import Topics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import ExitStack
    from pathlib import Path

    from engines.engine import Engine
    from harness.round import Round
    from workloads.records import Load

    from headrace.local import Broker

FIRST_ANSWER_S = 240
PATIENCE_S = 60
SETTLE_S = 3
# Load goes on for so long behind a window, and does not count. An engine that waits for a further record, or half a
# second, before it hands on the last ones would be charged for a silence that no stream has.
BEHIND_S = 1.0
# One of so many windows of an engine may be repeated: `make bench` must end in time on a busy machine too.
WINDOWS_PER_REPEAT = 3


class DroppedError(Exception):
    """A contestant is out: it died, lost records or answered wrongly."""


class Stage:
    """The contestants of a round with the generator and the receiver that they share."""

    def __init__(self, plan: Round, broker: Broker, folder: Path, say: Callable[[str], None]) -> None:
        """Names the topics and folders of each contestant."""
        self.plan = plan
        self._broker = broker
        self._folder = folder
        self._say = say
        self.contestants = [self._contestant(engine) for engine in plan.engines]

    def _contestant(self, engine: Engine) -> Contestant:
        name = f"{self.plan.workload.name}-{self.plan.checkpoint_ms}-{engine.name}-{time.time_ns()}"
        job = Job(
            workload=self.plan.workload.name,
            bootstrap=self._broker.bootstrap,
            source=f"{name}-in",
            sink=f"{name}-out",
            folder=self._folder / name,
            checkpoint_ms=self.plan.checkpoint_ms,
            partitions=self.plan.partitions,
        )
        try:
            engine.install()
            if engine.command(job) is None:
                # What comes back is what was sent; only the dedup workload has records that need no answer.
                echo = self.plan.workload if self.plan.workload.copies else ECHO
                return Contestant(engine, replace(job, sink=job.source), echo)
        except CannotError as reason:
            return Contestant(engine, job, self.plan.workload, why_not=str(reason))
        return Contestant(engine, job, self.plan.workload)

    def open(self, stack: ExitStack) -> None:
        """Makes the topics and starts generator and receiver."""
        topics = Topics(self._broker.bootstrap)
        for contestant in self.active():
            for topic in {contestant.job.source, contestant.job.sink}:
                topics.create(topic, partitions=self.plan.partitions)
        self._stack = stack
        self.generator = stack.enter_context(Generator(self._broker.bootstrap))
        sinks = [contestant.job.sink for contestant in self.active()]
        committed = self.plan.workload.read_committed
        receiver = Receiver(self._broker.bootstrap, sinks, partitions=self.plan.partitions, read_committed=committed)
        self._receiver = stack.enter_context(receiver)

    def active(self) -> list[Contestant]:
        """Returns who is still in."""
        return [contestant for contestant in self.contestants if not contestant.why_not]

    def warm_up(self) -> None:
        """Starts the engines one after the other and loads each until its code is compiled."""
        load = self.plan.loads[0]
        for contestant in self.active():
            with self.drops(contestant), self.awake(contestant):
                self._start(contestant)
                # A second's worth of records tells whether the engine answers at all.
                self.window(contestant, replace(load, rate=20), 1, FIRST_ANSWER_S, keep=False)
                if contestant.running and self.plan.warm_up_s:
                    self._say(f"  {contestant.engine.name}: warm-up of {self.plan.warm_up_s:.0f} s")
                    self.window(contestant, load, self.plan.warm_up_s, PATIENCE_S, keep=False)

    def _start(self, contestant: Contestant) -> None:
        command = contestant.engine.command(contestant.job)
        if command is None:
            return
        self._say(f"  {contestant.engine.name}: starting")
        contestant.job.folder.mkdir(parents=True, exist_ok=True)
        running = Running(command, contestant.job.folder.with_suffix(".log"))
        contestant.running = self._stack.enter_context(running)

    def drops(self, contestant: Contestant) -> _Drops:
        """Returns a block whose failure takes the contestant out of the round and lets the others go on."""
        return _Drops(contestant, self._say)

    @contextmanager
    def _machine(self) -> Iterator[None]:
        """Keeps others off the machine, if they have agreed to it."""
        if self.plan.lock is None:
            yield
        else:
            with self.plan.lock.open("a") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield

    @contextmanager
    def awake(self, contestant: Contestant) -> Iterator[None]:
        """Lets an engine run for the length of a block; at other times it is parked and cannot disturb the others."""
        with self._machine():
            if contestant.running:
                contestant.running.unpark()
            try:
                yield
            finally:
                if contestant.running:
                    contestant.running.park()

    def measure(self, load: Load) -> None:
        """Measures every contestant under one load, in turns; every other turn backwards: nobody is always first."""
        for turn in range(self.plan.windows):
            for contestant in self.active()[:: -1 if turn % 2 else 1]:
                with self.drops(contestant), self.awake(contestant):
                    self._turn(contestant, load, turn + 1)
        for contestant in self.active():
            contestant.completed.add(load)

    def each(self, name: str, find_out: Callable[[Stage, Contestant, Load], dict[str, Any]]) -> None:
        """Finds out something else about every contestant, under the first load of the plan."""
        for contestant in self.active():
            with self.drops(contestant), self.awake(contestant):
                contestant.findings[name] = find_out(self, contestant, self.plan.loads[0])
                self._say(f"  {contestant.engine.name:14} {name}: {contestant.findings[name]}")

    def _turn(self, contestant: Contestant, load: Load, turn: int) -> None:
        if contestant.running:
            # Whatever was due while it was parked (an epoch's end, a checkpoint) is done with by then.
            self.window(contestant, load, SETTLE_S, PATIENCE_S, keep=False)
        while True:
            window = self.window(contestant, load, self.plan.window_s, PATIENCE_S, keep=True)
            spoilt = f"  (unusable: {window['spoilt']})" if window["spoilt"] else ""
            self._say(
                f"  {contestant.engine.name:14} {load.rate}/s window {turn}/{self.plan.windows}: "
                f"p50 {window['p50']:.1f}  p99 {window['p99']:.1f}  p99.9 {window['p99.9']:.1f} ms{spoilt}"
            )
            repeated = len(contestant.windows[load]) - turn
            if window["usable"] or repeated >= math.ceil(self.plan.windows / WINDOWS_PER_REPEAT):
                return

    def window(
        self, contestant: Contestant, load: Load, seconds: float, patience_s: float, *, keep: bool
    ) -> dict[str, Any]:
        """Loads one contestant, waits for its answers and returns what was measured; the result file keeps it or not.

        Raises:
            DroppedError: It died or lost records.
            WrongAnswerError: It answered wrongly.
        """
        pids = [each.running.pid for each in self.active() if each.running]
        pid = contestant.running.pid if contestant.running else None
        sent = contestant.ledger.open(load, seconds, BEHIND_S if keep else 0.0)
        load_pids = [self.generator.pid, self._receiver.pid]
        before = Reading.now(pid, pids, load_pids)
        self.generator.begin(Stretch(contestant.job.source, sent, contestant.workload.copies))
        lateness = self.generator.finish()
        self.collect(contestant, patience_s + 2 * self.plan.checkpoint_ms / 1000)
        cpu = before.until(Reading.now(pid, pids, load_pids))
        measured = contestant.ledger.close()
        if measured.duplicates and contestant.workload.read_committed:
            message = f"{measured.duplicates} answers came twice, and this workload allows none"
            raise DroppedError(message)
        return contestant.enter(measured, lateness, cpu, keep=keep)

    def collect(self, contestant: Contestant, patience_s: float) -> None:
        """Waits until every expected record was answered; a lost one is an error, not a good latency."""
        deadline = time.monotonic() + patience_s
        while True:
            received = self._receiver.take()
            contestant.ledger.take(received.pop(contestant.job.sink, []))
            for other in self.active():
                # What another one answered wrongly before it was parked is not this one's fault.
                with self.drops(other):
                    other.ledger.take(received.pop(other.job.sink, []))
            if not contestant.ledger.missing:
                return
            if contestant.running and not contestant.running.is_alive():
                raise DroppedError(contestant.running.failure())
            if time.monotonic() > deadline:
                message = f"{contestant.ledger.missing} records unanswered after {patience_s:.0f} s"
                raise DroppedError(message)
            time.sleep(0.02)


class _Drops:
    """Takes a contestant out of the round when it fails, and lets the others go on."""

    def __init__(self, contestant: Contestant, say: Callable[[str], None]) -> None:
        self._contestant = contestant
        self._say = say

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if not isinstance(error, DroppedError | WrongAnswerError | CannotError):
            return False
        self._contestant.why_not = str(error)
        if isinstance(error, WrongAnswerError):
            # Who answers wrongly under one load is not believed under another.
            self._contestant.completed.clear()
        self._say(f"  {self._contestant.engine.name}: out: {str(error).splitlines()[-1]}")
        return True
