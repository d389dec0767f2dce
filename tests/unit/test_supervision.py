# SPDX-License-Identifier: Apache-2.0
"""Which runs end a row of failures."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from headrace.errors import GaveUpError
from headrace.run import supervision
from headrace.run.causes import Cause
from headrace.run.health import Health
from headrace.run.restarts import Restarts
from headrace.run.supervision import Supervision

PASSES = Cause(text="broker away")
MINUTES_S = 120.0


class Clock:
    """Goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(supervision, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def run_and_fail(supervised: Supervision, clock: Clock, *, ready: bool) -> None:
    """One run of two minutes."""
    supervised.starts()
    # A further query begins just before the end.
    for is_ready, seconds in ((ready, MINUTES_S), (False, 0), (ready, 0)):
        supervised.is_ready(is_ready)
        clock.now += seconds
    supervised.failed(PASSES)


def test_runs_that_were_ready_for_long_are_started_again_for_ever(clock: Clock) -> None:
    supervised = Supervision("app.py", Restarts(limit=2), Health(None))
    for _ in range(5):
        run_and_fail(supervised, clock, ready=True)


def test_runs_that_were_never_ready_are_given_up_however_long_they_took(clock: Clock) -> None:
    supervised = Supervision("app.py", Restarts(limit=2), Health(None))
    run_and_fail(supervised, clock, ready=True)
    run_and_fail(supervised, clock, ready=False)
    with pytest.raises(GaveUpError, match="it failed 3 times in a row"):
        run_and_fail(supervised, clock, ready=False)
