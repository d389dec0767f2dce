# SPDX-License-Identifier: Apache-2.0
"""One phase of the demo: the scoring program with one trigger, started, warmed up and measured."""

from __future__ import annotations

import enum
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, cast

from application import Application
from child import Child
from failure import NotStartedError, ScoresMissingError
from generator import Order, Sent, generate
from receiver import Receipt, receive
from tally import Alerts, Tally, percentiles_ms

from headrace.local import Topics

if TYPE_CHECKING:
    from collections.abc import Callable

    from transactions import Plan

SCORE = Path(__file__).with_name("score.py")

_PARTITIONS = 2
_START_SECONDS = 180
_STALL_SECONDS = 30
_LEAD_US = 200_000
_SHOW_SECONDS = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """A mode of the query, and the trigger that makes it."""

    name: str
    trigger: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """What all phases have in common.

    Attributes:
        bootstrap: The broker's address.
        folder: For checkpoints and logs.
        plan: The transactions; the first one is sent alone, to see that the query has started.
        warmup: How long the others are sent before one counts.
        measured: How long those are sent that count.
    """

    bootstrap: str
    folder: Path
    plan: Plan
    warmup: timedelta
    measured: timedelta

    def log(self, phase: Phase) -> Path:
        """Returns the file with what the scoring program printed in a phase."""
        return self.folder / f"{phase.name}.log"


class Step(enum.StrEnum):
    """Where a phase stands."""

    WAITING = "waiting"
    STARTING = "starting Spark"
    WARMING_UP = "warming up"
    MEASURING = "measuring"
    DONE = "done"


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """A phase as the display shows it.

    Attributes:
        phase: Which.
        step: Where it stands.
        elapsed: Since the step began.
        of: How long the step takes, where that is known.
        rate: Scores per second over the last seconds; in the end, over all that count.
        latency_ms: The percentiles; while warming up, of the last seconds.
        scored: How many transactions came back that count.
        alerts: What was found of what was planted.
        lateness_ms: The percentiles of how late the generator was; known in the end.
    """

    phase: Phase
    step: Step = Step.WAITING
    elapsed: timedelta = timedelta()
    of: timedelta | None = None
    rate: float = 0
    latency_ms: tuple[float, ...] = ()
    scored: int = 0
    alerts: Alerts | None = None
    lateness_ms: tuple[float, ...] = ()


def run(phase: Phase, stage: Stage, show: Callable[[Progress], None]) -> Progress:
    """Runs a phase from start to end.

    Args:
        phase: Which.
        stage: What it runs on.
        show: Is told of the progress, about twice a second.

    Returns:
        The last state, with every transaction accounted for.

    Raises:
        DemoError: A process ended by itself, or scores did not come back.
    """
    source, target = f"transactions-{phase.name}", f"scores-{phase.name}"
    topics = Topics(stage.bootstrap)
    for topic in (source, target):
        topics.create(topic, partitions=_PARTITIONS)
    arguments = {
        "--bootstrap": stage.bootstrap,
        "--transactions": source,
        "--scores": target,
        "--checkpoint": str(stage.folder / f"{phase.name}-checkpoint"),
        "--trigger": phase.trigger,
    }
    with ExitStack() as running:
        program = running.enter_context(
            Application(SCORE, [word for pair in arguments.items() for word in pair], log=stage.log(phase))
        )
        receiver = running.enter_context(Child("receiver", receive, stage.bootstrap, target, _PARTITIONS))
        plan = stage.plan.transactions
        generator = running.enter_context(Child("generator", generate, stage.bootstrap, source, plan))
        return _Measurement(phase, stage, show).run(program, receiver, generator)


@dataclass(frozen=True, slots=True)
class _Span:
    """A part of the plan that is sent in one go; the next begins when all its scores are back."""

    step: Step
    first: int
    end: int
    begins: timedelta
    of: timedelta | None


class _Measurement:
    def __init__(self, phase: Phase, stage: Stage, show: Callable[[Progress], None]) -> None:
        plan = stage.plan.transactions
        warm = 1 + sum(each.due < stage.warmup for each in plan[1:])
        self._spans = (
            _Span(Step.STARTING, 0, 1, timedelta(), None),
            _Span(Step.WARMING_UP, 1, warm, timedelta(), stage.warmup),
            # After the warm-up's last score: what is measured is the query, not the backlog of its cold start.
            _Span(Step.MEASURING, warm, len(plan), stage.warmup, stage.measured),
        )
        self._tally = Tally([each.id for each in plan[warm:]], stage.plan.cases)
        self._measured = stage.measured
        self._show = show
        self._lateness_us: list[int] = []
        self._progress = Progress(phase=phase)
        self._next_show = 0.0

    def run(self, program: Application, receiver: Child, generator: Child) -> Progress:
        for span in self._spans:
            begin = time.monotonic() + _LEAD_US / 1e6
            start_us = _now_us() + _LEAD_US - span.begins // timedelta(microseconds=1)
            generator.connection.send(Order(first=span.first, end=span.end, start_us=start_us))
            self._tally.forget_recent()
            self._lateness_us = []
            heard = begin
            while self._tally.received < span.end:
                if self._listen(program, receiver, generator):
                    heard = time.monotonic()
                self._report(span, timedelta(seconds=max(0.0, time.monotonic() - begin)))
                self._check_stall(span, time.monotonic() - heard)
        return self._outcome()

    def _listen(self, program: Application, receiver: Child, generator: Child) -> bool:
        """Takes in what the other processes tell, and says whether scores were among it."""
        wait([receiver.connection, generator.connection], timeout=_SHOW_SECONDS)
        program.check()
        for sent in cast("list[Sent]", list(generator.messages())):
            self._lateness_us += sent.lateness_us
        before = self._tally.received
        for receipts in cast("list[list[Receipt]]", list(receiver.messages())):
            self._tally.add(receipts, now_us=_now_us())
        return self._tally.received > before

    def _check_stall(self, span: _Span, silence: float) -> None:
        if span.step is Step.STARTING:
            if silence > _START_SECONDS:
                raise NotStartedError(_START_SECONDS)
        elif silence > _STALL_SECONDS and len(self._lateness_us) == span.end - span.first:
            raise ScoresMissingError(span.end - self._tally.received, span.end)

    def _report(self, span: _Span, elapsed: timedelta) -> None:
        if span.step is self._progress.step and time.monotonic() < self._next_show:
            return
        self._next_show = time.monotonic() + _SHOW_SECONDS
        self._progress = replace(
            self._progress,
            step=span.step,
            elapsed=min(elapsed, span.of) if span.of is not None else elapsed,
            of=span.of,
            rate=self._tally.rate,
            latency_ms=self._tally.percentiles_ms(),
            alerts=self._tally.alerts() if span.step is Step.MEASURING else None,
        )
        self._show(self._progress)

    def _outcome(self) -> Progress:
        outcome = replace(
            self._progress,
            step=Step.DONE,
            rate=self._tally.measured / self._measured.total_seconds(),
            latency_ms=self._tally.percentiles_ms(),
            scored=self._tally.measured,
            alerts=self._tally.alerts(),
            lateness_ms=percentiles_ms(self._lateness_us),
        )
        self._show(outcome)
        return outcome


def _now_us() -> int:
    return time.time_ns() // 1_000
