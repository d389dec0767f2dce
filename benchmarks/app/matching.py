# SPDX-License-Identifier: Apache-2.0
"""Which output answers which input, when all that is known of both is the key and the time.

Two rules. *In turn*: if every input has one output with its key, the first output of a key answers its first input, and
so on; this is exact. *The last before*: else an output answers the last input with its key that was created before the
output was received. Inputs that the query drops then do not count, and neither do those that were overtaken by another
input with their key: if keys come again sooner than the query answers, its latencies are too low, never too high.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Keyed: TypeAlias = tuple[float, bytes]
"""When an input was created, or an output received, in seconds since 1970; and its key."""
Span: TypeAlias = tuple[float, float]
"""Begin and end, in seconds since 1970."""


def is_in_turn(inputs: Sequence[Keyed], outputs: Sequence[Keyed], until_s: float) -> bool:
    """Tells whether inputs and outputs come in pairs, as far as inputs were created until a time."""
    due = Counter(key for created_s, key in inputs if created_s < until_s)
    every = Counter(key for _, key in inputs)
    answered = Counter(key for _, key in outputs)
    return all(answered[key] >= count for key, count in due.items()) and answered <= every


def in_turn(inputs: Iterable[Keyed], outputs: Iterable[Keyed], window: Span) -> list[float]:
    """Returns the latencies in ms of the inputs of a window, where inputs and outputs come in pairs."""
    received = _times_by_key(outputs)
    return [
        (received[key][place] - created_s) * 1000
        for key, times in _times_by_key(inputs).items()
        for place, created_s in enumerate(times)
        if window[0] <= created_s < window[1] and place < len(received[key])
    ]


def last_before(inputs: Iterable[Keyed], outputs: Iterable[Keyed], window: Span) -> list[float]:
    """Returns the latencies in ms of those inputs of a window that are the last before an output with their key."""
    received = _times_by_key(outputs)
    latencies = []
    for key, times in _times_by_key(inputs).items():
        times.sort()
        answers: dict[int, float] = {}
        for received_s in sorted(received[key]):
            # Of several outputs the first is the answer.
            answers.setdefault(bisect_right(times, received_s) - 1, received_s)
        answers.pop(-1, None)
        latencies += [
            (received_s - times[place]) * 1000
            for place, received_s in answers.items()
            if window[0] <= times[place] < window[1]
        ]
    return latencies


def gaps_ms(inputs: Iterable[Keyed], window: Span) -> list[float]:
    """Returns the times from each input of a window to the next one with its key, in order of length."""
    return sorted(
        (after_s - created_s) * 1000
        for times in _times_by_key(inputs).values()
        for created_s, after_s in itertools.pairwise(sorted(times))
        if window[0] <= created_s < window[1]
    )


def _times_by_key(records: Iterable[Keyed]) -> defaultdict[bytes, list[float]]:
    times: defaultdict[bytes, list[float]] = defaultdict(list)
    for time_s, key in records:
        times[key].append(time_s)
    return times
