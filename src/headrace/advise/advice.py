# SPDX-License-Identifier: Apache-2.0
"""Looks for what is likely to hurt in a query that can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.advise.choice import choose
from headrace.advise.measured import BOUNDARY_GAP_MS, BOUNDARY_GAP_STATE_MS
from headrace.advise.wording import Advice, word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import timedelta

    from headrace.advise.query import CheckedQuery

_HOT = 3.0
"""So many times the mean: a partition of three times the load is a stream that a third of the slots could carry."""
_LARGE_BYTES = 10 * 1024**2
"""Spark's default of spark.sql.autoBroadcastJoinThreshold."""
_RARE = 0.01


def advise(query: CheckedQuery, budget: timedelta | None = None) -> tuple[Advice, ...]:
    """Returns what is to be said of one query, first whether real-time mode is for it.

    Args:
        query: The query.
        budget: How old a result may be when it is read.
    """
    looks = _LOOKS if query.is_eligible else (_tables,)
    return (choose(query, budget), *(advice for look in looks for advice in look(query)))


def advise_together(queries: Sequence[CheckedQuery]) -> tuple[Advice, ...]:
    """Returns what is to be said of all real-time queries of one application."""
    return (word("SEVERAL_QUERIES", count=len(queries)),) if len(queries) > 1 else ()


def _trigger(query: CheckedQuery) -> Iterator[Advice]:
    if query.real_time_ms is None:
        yield word("TRIGGER", trigger=query.trigger)


def _commits(query: CheckedQuery) -> Iterator[Advice]:
    if query.commits_at_epoch_end is not None and query.real_time_ms is not None:
        gap = BOUNDARY_GAP_STATE_MS if query.state else BOUNDARY_GAP_MS
        yield word(
            "COMMIT_INTERVAL",
            seconds=query.real_time_ms / 1000,
            reason=query.commits_at_epoch_end,
            share=min(1.0, gap / query.real_time_ms),
            gap=gap,
            rare=gap / 1000 / _RARE,
        )


def _state(query: CheckedQuery) -> Iterator[Advice]:
    for state in query.state:
        if not state.bounded:
            yield word("STATE_GROWS", operator=state.operator)


def _waits(query: CheckedQuery) -> Iterator[Advice]:
    linger = float(query.producer.get("linger.ms", "0"))
    if linger > 0:
        yield word("LINGER", linger=linger)
    for source in query.sources:
        least = int(source.client.get("fetch.min.bytes", "1"))
        if least > 1:
            yield word("FETCH_MIN_BYTES", least=least, wait=source.client["fetch.max.wait.ms"])


def _skew(query: CheckedQuery) -> Iterator[Advice]:
    for source in query.sources:
        count, total = len(source.records), sum(source.records.values())
        partition, records = max(source.records.items(), key=lambda item: item[1], default=("", 0))
        if records > _HOT * total / max(count, 1):
            yield word("HOT_PARTITION", partition=partition, share=records / total, count=count)


def _tables(query: CheckedQuery) -> Iterator[Advice]:
    for size in query.tables:
        if size > _LARGE_BYTES:
            yield word("LARGE_TABLE", mib=size // 1024**2)


def _clock(query: CheckedQuery) -> Iterator[Advice]:
    if query.frozen_clock and query.real_time_ms is not None:
        yield word("FROZEN_CLOCK", seconds=query.real_time_ms / 1000)


def _collector(query: CheckedQuery) -> Iterator[Advice]:
    options = query.settings.get("spark.executor.extraJavaOptions", "")
    # With a local master the driver's JVM is the executor; "Copy" is what Java calls the serial collector.
    is_local = query.settings.get("spark.master", "").startswith("local")
    if (is_local and "Copy" in query.collectors) or "UseSerialGC" in options or "UseParallelGC" in options:
        yield word("GARBAGE_COLLECTOR")


_LOOKS: tuple[Callable[[CheckedQuery], Iterator[Advice]], ...] = (
    _trigger,
    _commits,
    _state,
    _waits,
    _skew,
    _tables,
    _clock,
    _collector,
)
