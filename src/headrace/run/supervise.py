# SPDX-License-Identifier: Apache-2.0
"""Keeps a query of this process running."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.engine import gateway
from headrace.run.causes import Cause, cause_of
from headrace.run.health import Health
from headrace.run.positions import position_of
from headrace.run.restarts import Restarts
from headrace.run.supervision import Supervision

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming import StreamingQuery

_LOOK_EVERY_S = 1
_DEFAULT = Restarts()


def supervise(start: Callable[[], StreamingQuery], *, restarts: Restarts = _DEFAULT, health: str | None = None) -> None:
    """Starts a query, and starts it again from its checkpoint when it fails; returns when it is stopped.

    Each restart is said on stderr, with its cause and with the offsets at which the query goes on. An error that will
    not go away, such as one in the code or in the data, or another run of the same checkpoint, ends it at once. So does
    the loss of Spark's JVM; ``headrace run --supervise``, which keeps a whole application running, survives that.

    Args:
        start: What starts the query: the method ``start`` of a ``DataStreamWriter``.
        restarts: How often it is started again, and after how long.
        health: ``HOST:PORT``, or ``:PORT`` for this machine alone, where ``/healthz`` and ``/readyz`` are answered.

    Raises:
        GaveUpError: It failed and was not started again; the query's own error is its cause.
        HealthAddressError: Nobody can listen at that address.

    Example:
        >>> headrace.supervise(writer.start, health=":8080")  # doctest: +SKIP
    """
    with Health(health) as told:
        supervision = Supervision("the query", restarts, told)
        while True:
            supervision.starts()
            try:
                _watch(start(), supervision)
            except Exception as error:  # noqa: BLE001 whatever ended the query is judged by its cause
                wait = _wait_after(error, supervision)
            else:
                return
            time.sleep(wait)


def _watch(query: StreamingQuery, supervision: Supervision) -> None:
    """Returns when the query is stopped; raises what it fails with."""
    while not query.awaitTermination(_LOOK_EVERY_S):
        position = position_of(query)
        supervision.is_ready(position is not None)
        if position is not None:
            supervision.reads(query.name or str(query.id), position)


def _wait_after(error: Exception, supervision: Supervision) -> float:
    cause = cause_of(error)
    if gateway.jvm_exit_code() is not None:
        cause = Cause(text=cause.text, lasts="this process cannot have another JVM")
    try:
        return supervision.failed(cause)
    except Exception as gave_up:
        raise gave_up from error
