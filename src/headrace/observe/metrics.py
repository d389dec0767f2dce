# SPDX-License-Identifier: Apache-2.0
"""The metrics that other systems get to see, as a table: names, kinds, meanings, and where each value comes from.

Prometheus, OpenTelemetry and the page of reference are all made from it. Units are the base units, as both ask for.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from headrace.observe.sampling import (
    application,
    latency,
    per_executor,
    per_partition,
    per_query,
    per_stage,
    per_worker,
    scaled,
    stage_times,
    states,
    timers,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.observe.sampling import Sample
    from headrace.observe.snapshot import Snapshot

_S = 1 / 1000
_BYTES = 1024 * 1024


class Kind(Enum):
    """What a number means over time."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"
    INFO = "info"


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


METRICS = (
    Metric("headrace_application", Kind.INFO, "The Spark application.", application),
    Metric("headrace_query_state", Kind.GAUGE, "1 for the state that the query is in, 0 for the others.", states),
    Metric(
        "headrace_latency_seconds",
        Kind.HISTOGRAM,
        "Latency of records since the run began: end to end, and its parts queueing, processing and delivery.",
        latency,
    ),
    Metric(
        "headrace_timer_results",
        Kind.COUNTER,
        "Results that timers made since the run began; they have no latency.",
        per_query(timers),
    ),
    Metric(
        "headrace_dead_letters",
        Kind.COUNTER,
        "Records that broke a function and went to the dead letters' topic since the run began.",
        per_query(lambda query: query.dead_letters),
    ),
    Metric(
        "headrace_read_records_per_second",
        Kind.GAUGE,
        "Records read, over the last ten seconds.",
        per_query(lambda query: None if query.rate is None else query.rate.read),
    ),
    Metric(
        "headrace_written_records_per_second",
        Kind.GAUGE,
        "Records written, over the last ten seconds.",
        per_query(lambda query: None if query.rate is None else query.rate.written),
    ),
    Metric(
        "headrace_lag_records",
        Kind.GAUGE,
        "Records behind the newest input.",
        per_query(lambda query: None if query.lag is None else query.lag.records),
    ),
    Metric(
        "headrace_lag_seconds",
        Kind.GAUGE,
        "Seconds behind the newest input.",
        per_query(lambda query: None if query.lag is None else query.lag.seconds),
    ),
    Metric(
        "headrace_epoch",
        Kind.GAUGE,
        "Number of the epoch that runs.",
        per_query(lambda query: None if query.epoch is None else query.epoch.number),
    ),
    Metric(
        "headrace_boundary_gap_seconds",
        Kind.GAUGE,
        "Time in which nothing was read at the last boundary between two epochs.",
        per_query(lambda query: scaled(query.boundaries[-1].gap_ms, _S) if query.boundaries else None),
    ),
    Metric(
        "headrace_commit_age_seconds",
        Kind.GAUGE,
        "Time since the last commit: what a crash now would repeat.",
        per_query(lambda query: None if query.commits is None else scaled(query.commits.age_ms, _S)),
    ),
    Metric(
        "headrace_partition_latency_p99_seconds",
        Kind.GAUGE,
        "Latency that 99 of 100 records of a partition stay below.",
        per_partition(lambda part: scaled(part.p99, _S)),
    ),
    Metric(
        "headrace_partition_lag_records",
        Kind.GAUGE,
        "Records behind the newest input of a partition.",
        per_partition(lambda part: part.lag_records),
    ),
    Metric(
        "headrace_partition_records_per_second",
        Kind.GAUGE,
        "Records read from a partition.",
        per_partition(lambda part: part.rate),
    ),
    Metric(
        "headrace_partition_busiest_key_ratio",
        Kind.GAUGE,
        "Share of a partition's records that have its busiest key, by a sample, at least.",
        per_partition(lambda part: None if part.busiest_key is None else part.busiest_key.share),
    ),
    Metric(
        "headrace_stage_processing_seconds",
        Kind.GAUGE,
        "Time that a row spends in a stage, over the last ten seconds, by quantile.",
        stage_times,
    ),
    Metric(
        "headrace_stage_rows_per_second",
        Kind.GAUGE,
        "Rows that a stage hands on.",
        per_stage(lambda stage: stage.rows_out),
    ),
    Metric(
        "headrace_stage_queue_ratio",
        Kind.GAUGE,
        "How full the buffers behind a stage are, from 0 to 1.",
        per_stage(lambda stage: stage.queue),
    ),
    Metric(
        "headrace_stage_hot_task_ratio",
        Kind.GAUGE,
        "The busiest task's share of a stage's rows, where they are uneven.",
        per_stage(lambda stage: None if stage.skew is None else stage.skew.share),
    ),
    Metric(
        "headrace_python_worker_busy_ratio",
        Kind.GAUGE,
        "The share of its time that a Python worker works, from 0 to 1.",
        per_worker(lambda worker: worker.busy),
    ),
    Metric(
        "headrace_python_worker_memory_bytes",
        Kind.GAUGE,
        "Memory of a Python worker.",
        per_worker(lambda worker: scaled(worker.memory_mb, _BYTES)),
    ),
    Metric(
        "headrace_executor_gc_ratio",
        Kind.GAUGE,
        "The share of time that an executor stands still for its garbage collector, from 0 to 1.",
        per_executor(lambda executor: scaled(executor.gc_ms_per_s, _S)),
    ),
    Metric(
        "headrace_executor_gc_longest_seconds",
        Kind.GAUGE,
        "The longest such pause of late.",
        per_executor(lambda executor: scaled(executor.gc_max_ms, _S)),
    ),
    Metric(
        "headrace_executor_heap_used_bytes",
        Kind.GAUGE,
        "Heap in use.",
        per_executor(lambda executor: scaled(executor.heap_used_mb, _BYTES)),
    ),
    Metric(
        "headrace_executor_heap_max_bytes",
        Kind.GAUGE,
        "Heap that may be used at most.",
        per_executor(lambda executor: scaled(executor.heap_max_mb, _BYTES)),
    ),
)
