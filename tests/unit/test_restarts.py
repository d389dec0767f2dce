# SPDX-License-Identifier: Apache-2.0
"""When something is started again, and when it is given up."""

from __future__ import annotations

import datetime as dt

import pytest

from headrace.errors import GaveUpError
from headrace.run.causes import Cause
from headrace.run.restarts import Attempts, Restarts

PASSES = Cause(text="broker away")
LASTS = Cause(text="bad code", lasts="the code must be corrected")
SHORT, LONG = dt.timedelta(seconds=1), dt.timedelta(minutes=2)


def waits(attempts: Attempts, *ready_for: dt.timedelta) -> list[float]:
    return [attempts.wait_after("app.py", PASSES, ready).total_seconds() for ready in ready_for]


def test_waits_double_up_to_the_longest() -> None:
    attempts = Attempts(Restarts(longest_wait=dt.timedelta(seconds=5)))
    for wait, expected in zip(waits(attempts, *[SHORT] * 5), [1, 2, 4, 5, 5], strict=True):
        assert wait == pytest.approx(expected, rel=0.2)
    assert attempts.total == 5


@pytest.mark.parametrize("longest", [dt.timedelta(seconds=60), dt.timedelta(days=100_000_000)], ids=str)
def test_a_row_may_be_long(longest: dt.timedelta) -> None:
    attempts = Attempts(Restarts(limit=1000, longest_wait=longest))
    assert waits(attempts, *[SHORT] * 1000)[-1] == pytest.approx(longest.total_seconds(), rel=0.2)


def test_after_a_healthy_run_a_failure_counts_as_the_first() -> None:
    attempts = Attempts(Restarts(limit=2))
    assert waits(attempts, SHORT, SHORT, LONG)[2] == pytest.approx(1, rel=0.2)


def test_the_row_has_a_limit() -> None:
    attempts = Attempts(Restarts(limit=2))
    waits(attempts, SHORT, SHORT)
    with pytest.raises(GaveUpError, match="it failed 3 times in a row"):
        attempts.wait_after("app.py", PASSES, SHORT)


def test_what_lasts_is_given_up_at_once() -> None:
    with pytest.raises(GaveUpError, match="because the code must be corrected"):
        Attempts(Restarts()).wait_after("app.py", LASTS, LONG)
