# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from headrace.observe.feed import FAILURES_OF_A_FAULT, Feed
from headrace.testing import eventually

if TYPE_CHECKING:
    from collections.abc import Callable

WAIT_S = 20


class Engine:
    """Answers with the number of the question, and can be told to fail."""

    def __init__(self) -> None:
        self.asked = 0
        self.fails = False

    def __call__(self) -> str:
        self.asked += 1
        if self.fails:
            raise OSError
        return str(self.asked)


@pytest.fixture
def feed_threads() -> Callable[[], int]:
    """Counts the threads that are of the test itself: another one of this process may have left some that end soon."""
    before = set(threading.enumerate())
    return lambda: sum(thread.name == "headrace-feed" for thread in set(threading.enumerate()) - before)


def test_all_readers_get_the_same_and_the_engine_is_asked_once_for_all() -> None:
    engine = Engine()
    # It answers when both have read: on a busy machine one of them may be late.
    may_answer = threading.Semaphore(0)

    def answer() -> str:
        may_answer.acquire()
        return engine()

    feed = Feed(answer)
    with feed.read(0.1) as one, feed.read(0.1) as other:
        for _ in range(3):
            may_answer.release()
            first, second = one.next(WAIT_S), other.next(WAIT_S)
            assert first is not None
            assert first == second
            assert first.number == engine.asked
    may_answer.release()


def test_nobody_is_asked_while_nobody_reads(feed_threads: Callable[[], int]) -> None:
    engine = Engine()
    feed = Feed(engine)
    assert engine.asked == 0
    with feed.read(0.1) as reader:
        reader.next(WAIT_S)
    eventually(lambda: feed_threads() == 0)
    before = engine.asked
    with feed.read(0.1) as reader:
        sight = reader.next(WAIT_S)
    # What was seen before is no news to one who comes later.
    assert sight is not None
    assert sight.document == str(before + 1)


def test_one_who_wants_it_often_gets_it_and_hurries_no_other() -> None:
    feed = Feed(Engine())
    with feed.read(5) as seldom, feed.read(0.1) as often:
        first = seldom.next(WAIT_S)
        numbers = [sight.number for sight in (often.next(WAIT_S) for _ in range(4)) if sight]
        assert first is not None
        assert numbers == sorted(set(numbers))
        assert seldom.next(0) is not None


@pytest.mark.parametrize("every_s", [1e10, float("inf")])
def test_one_who_wants_to_wait_for_ever_keeps_no_other_from_reading(every_s: float) -> None:
    feed = Feed(Engine())
    with feed.read(every_s) as seldom:
        assert seldom.next(WAIT_S) is not None
        with feed.read(0.1) as often:
            assert often.next(WAIT_S) is not None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_the_end_of_the_thread_that_asks_is_not_the_end_of_reading(feed_threads: Callable[[], int]) -> None:
    engine = Engine()

    def end_or_answer() -> str:
        if engine() == "1":
            raise SystemExit
        return "answer"

    feed = Feed(end_or_answer)
    with feed.read():
        eventually(lambda: engine.asked == 1 and feed_threads() == 0)
        with feed.read() as reader:
            sight = reader.next(WAIT_S)
    assert sight is not None
    assert sight.document == "answer"


def test_an_engine_that_cannot_be_asked_is_said_and_asked_again() -> None:
    engine = Engine()
    feed = Feed(engine)
    with feed.read(0.1) as reader:
        engine.fails = True
        eventually(lambda: (sight := reader.next(WAIT_S)) is not None and sight.document is None)
        engine.fails = False
        eventually(lambda: (sight := reader.next(WAIT_S)) is not None and sight.document is not None)


def test_an_engine_that_goes_on_failing_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    engine = Engine()
    engine.fails = True
    with Feed(engine).read(0.1) as reader:
        for _ in range(2 * FAILURES_OF_A_FAULT):
            reader.next(WAIT_S)
    assert capsys.readouterr().err.count("cannot be read") == 1
