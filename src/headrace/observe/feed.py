# SPDX-License-Identifier: Apache-2.0
"""Asks the engine once for all who want to know."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.engine import gateway
from headrace.engine.launch import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

EVERY_S = 1.0
"""How often the engine is asked, unless a reader wants it more often."""
LEAST_S = 0.1
"""It is never asked more often: nobody reads faster, and each question costs the driver."""
MOST_S = 60.0
"""No reader waits longer: what is too long for a lock to wait for would end the thread that asks."""
FAILURES_OF_A_FAULT = 5
"""An application that is just being stopped answers with errors too, but not so often: then it is gone."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sight:
    """What the engine said.

    Attributes:
        number: Counts what was seen.
        document: Its words; ``None`` if it could not be asked, because Spark has not started yet, or has ended.
    """

    number: int
    document: str | None


class Feed:
    """The engine's document, over and over, the same to all readers. While there is none, nobody is asked.

    Args:
        ask: What returns the document, ``None`` if there is none; the engine of this process, unless it is named.
    """

    def __init__(self, ask: Callable[[], str | None] | None = None) -> None:
        self._ask = ask or _observed
        self._changed = threading.Condition()
        self._last = Sight(number=0, document=None)
        self._pauses: list[float] = []
        self._is_asking = False
        self._asked = float("-inf")
        self._failures = 0

    @contextlib.contextmanager
    def read(self, every_s: float = EVERY_S) -> Iterator[Reader]:
        """Reads along as long as the block lasts."""
        pause = min(max(every_s, LEAST_S), MOST_S)
        with self._changed:
            self._pauses.append(pause)
            reader = Reader(self, pause, self._last.number)
            if not self._is_asking:
                self._is_asking = True
                threading.Thread(target=self._ask_on, name="headrace-feed", daemon=True).start()
            self._changed.notify_all()
        try:
            yield reader
        finally:
            with self._changed:
                self._pauses.remove(pause)
                self._changed.notify_all()

    def newer_than(self, number: int, timeout_s: float) -> Sight | None:
        """Waits for the next sight behind a number; ``None`` when the time is over."""
        with self._changed:
            return self._last if self._changed.wait_for(lambda: self._last.number > number, timeout_s) else None

    def _ask_on(self) -> None:
        try:
            while self._ask_once():
                pass
        except BaseException:
            # Else nobody would ask ever again; so the next reader starts another thread.
            with self._changed:
                self._is_asking = False
            raise

    def _ask_once(self) -> bool:
        """Asks, and waits until it is time to ask again; says whether somebody still reads."""
        # Readers that come one after the other are no reason to ask more often.
        time.sleep(max(0.0, self._asked + LEAST_S - time.monotonic()))
        self._asked = time.monotonic()
        document = self._answer()
        with self._changed:
            self._last = Sight(number=self._last.number + 1, document=document)
            self._changed.notify_all()
            # Readers come and go meanwhile, and a new one need not wait for the pace of the others.
            while self._pauses and (left := self._asked + min(self._pauses) - time.monotonic()) > 0:
                self._changed.wait(left)
            # Under the same lock: a reader who comes now must see that it needs a thread.
            self._is_asking = bool(self._pauses)
            return self._is_asking

    def _answer(self) -> str | None:
        # Readers learn that the engine cannot be asked; the thread goes on, whatever the JVM says.
        try:
            document = self._ask()
        except Exception as error:  # noqa: BLE001 see above
            self._failures += 1
            if self._failures == FAILURES_OF_A_FAULT:
                tell([f"its own measurements cannot be read, the application goes on without them: {error}"])
            return None
        self._failures = 0
        return document


def _observed() -> str | None:
    # The question alone would start a JVM where there is none.
    is_there = gateway.is_application_running() and gateway.jvm_exit_code() is None
    return gateway.observed() if is_there else None


class Reader:
    """One who reads along."""

    def __init__(self, feed: Feed, every_s: float, number: int) -> None:
        self._feed = feed
        self._every_s = every_s
        self._number = number
        self._due = 0.0

    def next(self, timeout_s: float) -> Sight | None:
        """Waits for the next sight, not sooner than this reader wants it; ``None`` when the time is over."""
        # A little early: two clocks that tick together would otherwise skip every second sight.
        time.sleep(max(0.0, self._due - time.monotonic() - LEAST_S))
        sight = self._feed.newer_than(self._number, timeout_s)
        if sight is not None:
            self._number = sight.number
            self._due = time.monotonic() + self._every_s
        return sight
