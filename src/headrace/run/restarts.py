# SPDX-License-Identifier: Apache-2.0
"""When to start again, and when to stop trying."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import GaveUpError

if TYPE_CHECKING:
    from headrace.run.causes import Cause

_LEAST, _MOST = 0.8, 1.2


@dataclass(frozen=True, kw_only=True, slots=True)
class Restarts:
    """How often, and after how long, something that failed is started again.

    The wait doubles with each failure. Once all queries have read for a while, the next failure counts as the first.

    Attributes:
        limit: So many restarts in a row, then it is given up.
        first_wait: The wait before the first restart.
        longest_wait: No wait is longer.
        healthy_after: What has been ready for so long is healthy.
    """

    limit: int = 10
    first_wait: dt.timedelta = dt.timedelta(seconds=1)
    longest_wait: dt.timedelta = dt.timedelta(seconds=60)
    healthy_after: dt.timedelta = dt.timedelta(seconds=60)


class Attempts:
    """Counts restarts."""

    def __init__(self, restarts: Restarts) -> None:
        self._restarts = restarts
        self._in_a_row = 0
        self.total = 0

    def wait_after(self, what: str, cause: Cause, ready_for: dt.timedelta) -> dt.timedelta:
        """Returns how long to wait before the next start.

        Args:
            what: What failed.
            cause: Why.
            ready_for: How long ago it was ready for the first time; zero if it never was.

        Raises:
            GaveUpError: There must be no next start.
        """
        if cause.lasts is not None:
            raise GaveUpError(what=what, cause=cause.text, reason=cause.lasts)
        if ready_for >= self._restarts.healthy_after:
            self._in_a_row = 0
        if self._in_a_row >= self._restarts.limit:
            raise GaveUpError(what=what, cause=cause.text, reason=f"it failed {self._in_a_row + 1} times in a row")
        wait = self._next_wait()
        self._in_a_row += 1
        self.total += 1
        # Many applications that lost one broker should not all come back to it at the same moment.
        return wait * random.uniform(_LEAST, _MOST)  # noqa: S311 nobody has to guess it

    def _next_wait(self) -> dt.timedelta:
        first, longest, factor = self._restarts.first_wait, self._restarts.longest_wait, 1 << self._in_a_row
        # Divided first: after some fifty failures the product is more than a timedelta can hold.
        return first * factor if first <= longest // factor else longest
