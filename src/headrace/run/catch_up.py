# SPDX-License-Identifier: Apache-2.0
"""Reads what is there in micro-batches, which is faster, before a query goes on in real time."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.readwriter import DataStreamWriter

from headrace.engine.writers import Writer
from headrace.errors import CheckpointMissingError
from headrace.run.backlog import Backlog

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming import StreamingQuery

_ACTIVE = "spark.headrace.catchUp.active"
_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
_REAL_TIME_PARTITIONS = "spark.headrace.realtime.shufflePartitions"
_LOOK_EVERY_S = 0.2
_SHORT_PASS_S = 10
"""After a pass that took no longer, what has come meanwhile is little enough for real time."""


def catch_up(writer: DataStreamWriter) -> None:
    """Runs a query in micro-batches over what is there, on its own checkpoint, and returns when it has caught up.

    What comes meanwhile is read too, until little enough is left. The writer is as before: start it, and the query goes
    on in real time with the very next record. Progress is shown on stderr.

    Args:
        writer: What starts the query. Its trigger may already be that of real time.

    Raises:
        CheckpointMissingError: The query would begin anew when it is started.
        StreamingQueryException: It failed meanwhile. What it has committed is not read again.

    Example:
        >>> headrace.catch_up(writer)  # doctest: +SKIP
    """
    if not Writer(writer).has_checkpoint:
        raise CheckpointMissingError
    _run(writer, writer.start)


def catch_up_before_every_start() -> None:
    """Changes PySpark in this process so that every real-time query catches up before it is started."""
    start: Callable[..., StreamingQuery] = DataStreamWriter.start

    @functools.wraps(start)
    def catch_up_and_start(self: DataStreamWriter, *args: object, **kwargs: object) -> StreamingQuery:
        writer = Writer(self)
        if writer.is_real_time:
            if not (writer.has_checkpoint or "checkpointLocation" in kwargs):
                raise CheckpointMissingError
            _run(self, functools.partial(start, self, *args, **kwargs))
        return start(self, *args, **kwargs)

    DataStreamWriter.start = catch_up_and_start  # type: ignore[method-assign]


def _run(writer: DataStreamWriter, start: Callable[[], StreamingQuery]) -> None:
    before = Writer(writer)
    backlog = Backlog()
    try:
        writer.trigger(availableNow=True)
        took_s = float("inf")
        while took_s > _SHORT_PASS_S:
            began = time.monotonic()
            with before.settings(_settings(before)):
                query = start()
            _watch(query, backlog)
            took_s = time.monotonic() - began
    finally:
        before.restore_trigger()
    backlog.say_end()


def _settings(writer: Writer) -> dict[str, str]:
    settings = {_ACTIVE: "true"}
    partitions: Any = writer.setting(_REAL_TIME_PARTITIONS)
    # A new checkpoint keeps the number for good, and Spark's own would be too many for real time.
    if partitions is not None and writer.setting(_SHUFFLE_PARTITIONS) is None:
        settings[_SHUFFLE_PARTITIONS] = partitions
    return settings


def _watch(query: StreamingQuery, backlog: Backlog) -> None:
    # Raises what it fails with.
    while not query.awaitTermination(_LOOK_EVERY_S):  # type: ignore[arg-type] # parts of a second are fine
        backlog.look(query)
    backlog.look(query)
