# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition instead of a time."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")

_POLL_SECONDS = 0.02


def eventually(condition: Callable[[], _T], timeout: timedelta = timedelta(seconds=30)) -> _T:
    """Calls a condition until it returns something true, and returns that.

    Args:
        condition: What to wait for; it may itself take a while, and errors in it end the wait.
        timeout: How long to try.

    Returns:
        The first true value.

    Raises:
        AssertionError: The time is over; the message shows the last value.

    Example:
        >>> answers = iter([[], [], ["ready"]])
        >>> eventually(lambda: next(answers))
        ['ready']
    """
    deadline = time.monotonic() + timeout.total_seconds()
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            message = f"not within {timeout.total_seconds():g} s; the last value was {value!r}"
            raise AssertionError(message)
        time.sleep(_POLL_SECONDS)
