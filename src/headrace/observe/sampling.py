# SPDX-License-Identifier: Apache-2.0
"""Takes the values of metrics out of a snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headrace.observe.snapshot import Executor, Partition, Quantiles, Query, Snapshot, Stage, Worker

_STATES = ("starting", "running", "stopped", "failed")
_S = 1 / 1000
_T = TypeVar("_T")


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


def per_query(value: Callable[[Query], float | None]) -> Callable[[Snapshot], Iterator[Sample]]:
    """Returns how to take one value of each query that has it."""

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


def per_partition(value: Callable[[Partition], float | None]) -> Callable[[Snapshot], Iterator[Sample]]:
    """Returns how to take one value of each partition that has it."""
    return _per_part(
        lambda query: query.partitions, lambda part: {"topic": part.topic, "partition": str(part.partition)}, value
    )


def per_stage(value: Callable[[Stage], float | None]) -> Callable[[Snapshot], Iterator[Sample]]:
    """Returns how to take one value of each stage that has it."""
    return _per_part(lambda query: query.stages, lambda stage: {"stage": str(stage.id)}, value)


def per_worker(value: Callable[[Worker], float | None]) -> Callable[[Snapshot], Iterator[Sample]]:
    """Returns how to take one value of each Python worker that has it."""
    return _per_part(
        lambda query: query.python,
        lambda worker: {
            "host": worker.host or "",
            "pid": _text(worker.pid),
            "stage": _text(worker.stage),
            # Not every worker tells its process; a task may have several, for functions of different kinds.
            "task": _text(worker.task),
            "functions": ",".join(worker.functions),
        },
        value,
    )


def per_executor(value: Callable[[Executor], float | None]) -> Callable[[Snapshot], Iterator[Sample]]:
    """Returns how to take one value of each executor that has it."""

    def samples(snapshot: Snapshot) -> Iterator[Sample]:
        for executor in snapshot.executors:
            found = value(executor)
            if found is not None:
                yield Sample(labels={"executor": executor.id, "host": executor.host or ""}, value=found)

    return samples


def application(snapshot: Snapshot) -> Iterator[Sample]:
    """Takes what there is to know of the application."""
    if snapshot.application is not None:
        application = snapshot.application
        labels = {"application": application.id, "name": application.name, "spark": application.spark or ""}
        yield Sample(labels=labels, value=1)


def states(snapshot: Snapshot) -> Iterator[Sample]:
    """Takes each state that a query can be in, with 1 for the one that it is in."""
    for query in current_runs(snapshot):
        for state in _STATES:
            yield Sample(labels={**_labels(query), "state": state}, value=float(query.state == state))


def latency(snapshot: Snapshot) -> Iterator[Sample]:
    """Takes latency since the run began, end to end and in parts."""
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


def stage_times(snapshot: Snapshot) -> Iterator[Sample]:
    """Takes the time that rows spend in stages, by quantile."""
    for query in current_runs(snapshot):
        for stage in query.stages:
            times = stage.processing
            found = {} if times is None else {"0.5": times.p50, "0.99": times.p99}
            for quantile, value in found.items():
                labels = {**_labels(query), "stage": str(stage.id), "quantile": quantile}
                yield Sample(labels=labels, value=value * _S)


def timers(query: Query) -> float | None:
    """Returns how many results of a query timers made."""
    timers = None if query.latency is None else query.latency.total.timers
    return None if timers is None else timers.count


def scaled(value: float | None, factor: float) -> float | None:
    """Returns a value in another unit, or nothing of nothing."""
    return None if value is None else value * factor


def _text(number: int | None) -> str:
    return "" if number is None else str(number)
