# SPDX-License-Identifier: Apache-2.0
"""How fast a query is right now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.engine import gateway
from headrace.errors import QueryUnknownError
from headrace.observe.snapshot import Parts, Quantiles, Snapshot

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery


@dataclass(frozen=True, kw_only=True, slots=True)
class Percentiles:
    """How long something took, in milliseconds, over ``count`` records."""

    count: int
    p50_ms: float
    p90_ms: float
    p99_ms: float
    p999_ms: float
    max_ms: float
    mean_ms: float


@dataclass(frozen=True, kw_only=True, slots=True)
class LatencyParts:
    """Latency and its parts. ``None`` stands for what was not measured: there were no records, or it cannot be known.

    Attributes:
        end_to_end: From the creation of a record to its result being visible to a consumer.
        queueing: From its creation to its being read.
        processing: From there to its result being handed to the sink.
        delivery: From there to the result being acknowledged; with exactly-once, committed.
        by_timers: How many results timers made; those have no latency, and count nowhere else.
    """

    end_to_end: Percentiles | None
    queueing: Percentiles | None
    processing: Percentiles | None
    delivery: Percentiles | None
    by_timers: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Latency:
    """How fast a query is.

    Attributes:
        recent: In the last ten seconds.
        total: Since the run began.
        creation: Whether the times of creation are known: ``known``, ``mixed``, or ``unknown`` where all topics are
            stamped with the time at which the broker appended a record.
    """

    recent: LatencyParts
    total: LatencyParts
    creation: str | None


_NOTHING = LatencyParts(end_to_end=None, queueing=None, processing=None, delivery=None, by_timers=0)


def latency(query: StreamingQuery) -> Latency:
    """Returns how fast a query is: measured inside its tasks, record by record, and known at once.

    Args:
        query: A query that runs, or one of the last that ended.

    Raises:
        QueryUnknownError: The engine knows nothing of it: its application runs without the engine, or it ended before
            the last twenty did.

    Example:
        >>> headrace.latency(query).recent.end_to_end.p99_ms  # doctest: +SKIP
        8.4
    """
    run = str(query.runId)
    for each in Snapshot.read(gateway.observed()).queries:
        if each.run == run and each.latency is not None:
            spans = each.latency
            return Latency(recent=_parts(spans.recent), total=_parts(spans.total), creation=each.creation)
    if query.isActive and gateway.has_engine():
        # It has only just been started.
        return Latency(recent=_NOTHING, total=_NOTHING, creation=None)
    raise QueryUnknownError(query.name or query.id)


def _parts(parts: Parts) -> LatencyParts:
    return LatencyParts(
        end_to_end=_percentiles(parts.end_to_end),
        queueing=_percentiles(parts.queueing),
        processing=_percentiles(parts.processing),
        delivery=_percentiles(parts.delivery),
        by_timers=0 if parts.timers is None else parts.timers.count,
    )


def _percentiles(found: Quantiles | None) -> Percentiles | None:
    if found is None:
        return None
    return Percentiles(
        count=found.count,
        p50_ms=found.p50,
        p90_ms=found.p90,
        p99_ms=found.p99,
        p999_ms=found.p999,
        max_ms=found.max,
        mean_ms=found.mean,
    )
