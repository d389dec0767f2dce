# SPDX-License-Identifier: Apache-2.0
"""The metrics that other systems get to see, as a table: names, kinds, meanings, and where each value comes from.

Prometheus, OpenTelemetry and the page of reference are all made from it. Units are the base units, as both ask for.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headrace.observe.snapshot import Executor, Partition, Quantiles, Query, Snapshot, Stage, Worker

_STATES = ("starting", "running", "stopped", "failed")
_S = 1 / 1000
_BYTES = 1024 * 1024
_T = TypeVar("_T")


class Kind(Enum):
    """What a number means over time."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"
    INFO = "info"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A value and what it is of.

    Attributes:
        labels: What it is of.
        value: A histogram has its quantiles instead of a number.
        since_ms: When what is counted began.
    """

    labels: Mapping[str, str]
    value: float | Quantiles
    since_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: what all its samples have in common.

    Attributes:
        name: With its unit at the end, if it has one, and without what a format adds for a kind.
        kind: What its numbers mean.
        help: One sentence.
        samples: Where they come from.
    """

    name: str
    kind: Kind
    help: str
    samples: Callable[[Snapshot], Iterator[Sample]]


def current_runs(snapshot: Snapshot) -> list[Query]:
    """Returns the last run of each query; an earlier one of the same query would count twice."""
    last: dict[str, Query] = {}
    for query in snapshot.queries:
        before = last.get(query.key)
        if before is None or (query.started_ms or 0) >= (before.started_ms or 0):
            last[query.key] = query
    return list(last.values())


def _labels(query: Query) -> dict[str, str]:
    return {"query": query.key, "name": query.label}


def _per_query(value: Callable[[Query], float | None]) -> Callable[[Snapshot], Iterator[Sample]]:
    def samples(snapshot: Snapshot) -> Iterator[Sample]:
        for query in current_runs(snapshot):
            found = value(query)
            if found is not None:
                yield Sample(labels=_labels(query), value=found, since_ms=query.started_ms)

    return samples


def _per_part(
    parts: Callable[[Query], tuple[_T, ...]],
    labels: Callable[[_T], dict[str, str]],
    value: Callable[[_T], float | None],
) -> Callable[[Snapshot], Iterator[Sample]]:
    def samples(snapshot: Snapshot) -> Iterator[Sample]:
        for query in current_runs(snapshot):
            for part in parts(query):
                found = value(part)
                if found is not None:
                    yield Sample(labels={**_labels(query), **labels(part)}, value=found)

    return samples


def _partition(value: Callable[[Partition], float | None]) -> Callable[[Snapshot], Iterator[Sample]]:
    return _per_part(
        lambda query: query.partitions, lambda part: {"topic": part.topic, "partition": str(part.partition)}, value
    )


def _stage(value: Callable[[Stage], float | None]) -> Callable[[Snapshot], Iterator[Sample]]:
    return _per_part(lambda query: query.stages, lambda stage: {"stage": str(stage.id)}, value)


def _worker(value: Callable[[Worker], float | None]) -> Callable[[Snapshot], Iterator[Sample]]:
    return _per_part(
        lambda query: query.python,
        lambda worker: {"host": worker.host or "", "pid": _text(worker.pid), "stage": _text(worker.stage)},
        value,
    )


def _executor(value: Callable[[Executor], float | None]) -> Callable[[Snapshot], Iterator[Sample]]:
    def samples(snapshot: Snapshot) -> Iterator[Sample]:
        for executor in snapshot.executors:
            found = value(executor)
            if found is not None:
                yield Sample(labels={"executor": executor.id, "host": executor.host or ""}, value=found)

    return samples


def _application(snapshot: Snapshot) -> Iterator[Sample]:
    if snapshot.application is not None:
        application = snapshot.application
        labels = {"application": application.id, "name": application.name, "spark": application.spark or ""}
        yield Sample(labels=labels, value=1)


def _states(snapshot: Snapshot) -> Iterator[Sample]:
    for query in current_runs(snapshot):
        for state in _STATES:
            yield Sample(labels={**_labels(query), "state": state}, value=float(query.state == state))


def _latency(snapshot: Snapshot) -> Iterator[Sample]:
    for query in current_runs(snapshot):
        total = None if query.latency is None else query.latency.total
        if total is None:
            continue
        found = {
            "end_to_end": total.end_to_end,
            "queueing": total.queueing,
            "processing": total.processing,
            "delivery": total.delivery,
        }
        for part, quantiles in found.items():
            if quantiles is not None:
                labels = {**_labels(query), "part": part}
                yield Sample(labels=labels, value=quantiles, since_ms=query.started_ms)


def _stage_times(snapshot: Snapshot) -> Iterator[Sample]:
    for query in current_runs(snapshot):
        for stage in query.stages:
            times = stage.processing
            found = {} if times is None else {"0.5": times.p50, "0.99": times.p99}
            for quantile, value in found.items():
                labels = {**_labels(query), "stage": str(stage.id), "quantile": quantile}
                yield Sample(labels=labels, value=value * _S)


def _timers(query: Query) -> float | None:
    timers = None if query.latency is None else query.latency.total.timers
    return None if timers is None else timers.count


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _text(number: int | None) -> str:
    return "" if number is None else str(number)


METRICS = (
    Metric("headrace_application", Kind.INFO, "The Spark application.", _application),
    Metric("headrace_query_state", Kind.GAUGE, "1 for the state that the query is in, 0 for the others.", _states),
    Metric(
        "headrace_latency_seconds",
        Kind.HISTOGRAM,
        "Latency of records since the run began: end to end, and its parts queueing, processing and delivery.",
        _latency,
    ),
    Metric(
        "headrace_timer_results",
        Kind.COUNTER,
        "Results that timers made since the run began; they have no latency.",
        _per_query(_timers),
    ),
    Metric(
        "headrace_dead_letters",
        Kind.COUNTER,
        "Records that broke a function and went to the dead letters' topic since the run began.",
        _per_query(lambda query: query.dead_letters),
    ),
    Metric(
        "headrace_read_records_per_second",
        Kind.GAUGE,
        "Records read, over the last ten seconds.",
        _per_query(lambda query: None if query.rate is None else query.rate.read),
    ),
    Metric(
        "headrace_written_records_per_second",
        Kind.GAUGE,
        "Records written, over the last ten seconds.",
        _per_query(lambda query: None if query.rate is None else query.rate.written),
    ),
    Metric(
        "headrace_lag_records",
        Kind.GAUGE,
        "Records behind the newest input.",
        _per_query(lambda query: None if query.lag is None else query.lag.records),
    ),
    Metric(
        "headrace_lag_seconds",
        Kind.GAUGE,
        "Seconds behind the newest input.",
        _per_query(lambda query: None if query.lag is None else query.lag.seconds),
    ),
    Metric(
        "headrace_epoch",
        Kind.GAUGE,
        "Number of the epoch that runs.",
        _per_query(lambda query: None if query.epoch is None else query.epoch.number),
    ),
    Metric(
        "headrace_boundary_gap_seconds",
        Kind.GAUGE,
        "Time in which nothing was read at the last boundary between two epochs.",
        _per_query(lambda query: _scaled(query.boundaries[-1].gap_ms, _S) if query.boundaries else None),
    ),
    Metric(
        "headrace_commit_age_seconds",
        Kind.GAUGE,
        "Time since the last commit: what a crash now would repeat.",
        _per_query(lambda query: None if query.commits is None else _scaled(query.commits.age_ms, _S)),
    ),
    Metric(
        "headrace_partition_latency_p99_seconds",
        Kind.GAUGE,
        "Latency that 99 of 100 records of a partition stay below.",
        _partition(lambda part: _scaled(part.p99, _S)),
    ),
    Metric(
        "headrace_partition_lag_records",
        Kind.GAUGE,
        "Records behind the newest input of a partition.",
        _partition(lambda part: part.lag_records),
    ),
    Metric(
        "headrace_partition_records_per_second",
        Kind.GAUGE,
        "Records read from a partition.",
        _partition(lambda part: part.rate),
    ),
    Metric(
        "headrace_stage_processing_seconds",
        Kind.GAUGE,
        "Time that a row spends in a stage, over the last ten seconds, by quantile.",
        _stage_times,
    ),
    Metric(
        "headrace_stage_rows_per_second",
        Kind.GAUGE,
        "Rows that a stage hands on.",
        _stage(lambda stage: stage.rows_out),
    ),
    Metric(
        "headrace_stage_queue_ratio",
        Kind.GAUGE,
        "How full the buffers behind a stage are, from 0 to 1.",
        _stage(lambda stage: stage.queue),
    ),
    Metric(
        "headrace_stage_hot_task_ratio",
        Kind.GAUGE,
        "The busiest task's share of a stage's rows, where they are uneven.",
        _stage(lambda stage: None if stage.skew is None else stage.skew.share),
    ),
    Metric(
        "headrace_python_worker_busy_ratio",
        Kind.GAUGE,
        "The share of its time that a Python worker works, from 0 to 1.",
        _worker(lambda worker: worker.busy),
    ),
    Metric(
        "headrace_python_worker_memory_bytes",
        Kind.GAUGE,
        "Memory of a Python worker.",
        _worker(lambda worker: _scaled(worker.memory_mb, _BYTES)),
    ),
    Metric(
        "headrace_executor_gc_ratio",
        Kind.GAUGE,
        "The share of time that an executor stands still for its garbage collector, from 0 to 1.",
        _executor(lambda executor: _scaled(executor.gc_ms_per_s, _S)),
    ),
    Metric(
        "headrace_executor_gc_longest_seconds",
        Kind.GAUGE,
        "The longest such pause of late.",
        _executor(lambda executor: _scaled(executor.gc_max_ms, _S)),
    ),
    Metric(
        "headrace_executor_heap_used_bytes",
        Kind.GAUGE,
        "Heap in use.",
        _executor(lambda executor: _scaled(executor.heap_used_mb, _BYTES)),
    ),
    Metric(
        "headrace_executor_heap_max_bytes",
        Kind.GAUGE,
        "Heap that may be used at most.",
        _executor(lambda executor: _scaled(executor.heap_max_mb, _BYTES)),
    ),
)
