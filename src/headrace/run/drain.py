# SPDX-License-Identifier: Apache-2.0
"""Ends a real-time query so that the next start repeats nothing."""

from __future__ import annotations

import datetime as dt
import threading
import time
from typing import TYPE_CHECKING

from pyspark.errors import StreamingQueryException

from headrace.engine import gateway
from headrace.errors import DrainTimeoutError
from headrace.run.saying import say

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

LOOK_EVERY_S = 0.05


def drain(query: StreamingQuery, timeout: dt.timedelta = dt.timedelta(seconds=60)) -> None:
    """Ends a query in good order: it reads no more, finishes what is on its way, commits, and stops.

    Results leave before this returns, and the next start goes on behind them; state included. A query in micro-batch
    mode is stopped between two batches.

    Args:
        query: A running query. One that has ended is left alone.
        timeout: How long it may take.

    Raises:
        DrainTimeoutError: It took longer. The query still runs, but reads no more; `query.stop()` ends it.
        StreamingQueryException: The query failed meanwhile.

    Example:
        >>> headrace.drain(query)  # doctest: +SKIP
    """
    deadline = time.monotonic() + timeout.total_seconds()
    run = str(query.runId)
    gateway.stop_reading(run)
    while query.isActive and not gateway.is_resting(run) and not _is_between_batches(query):
        if time.monotonic() > deadline:
            raise DrainTimeoutError(query=query.name or query.id, seconds=int(timeout.total_seconds()))
        time.sleep(LOOK_EVERY_S)
    # What Spark still writes of its logs in the background, it finishes.
    query.stop()
    # Raises what it failed with.
    query.awaitTermination()


def drain_all() -> None:
    """Drains every query of this process and says on stderr how it goes. One that cannot be drained stops no other.

    All are drained at the same time: together they take no longer than one may, and none reads on meanwhile.
    """
    threads = [threading.Thread(target=_drain_and_say, args=(query,)) for query in gateway.active_queries()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _drain_and_say(query: StreamingQuery) -> None:
    name = query.name or query.id
    say(f"draining {name}")
    try:
        drain(query)
    except (DrainTimeoutError, StreamingQueryException) as error:
        say(str(error))
    else:
        say(f"{name} is drained")


def _is_between_batches(query: StreamingQuery) -> bool:
    # A real-time query is in an epoch or on its way to the next one.
    return not gateway.is_real_time(query) and not query.status["isTriggerActive"]
