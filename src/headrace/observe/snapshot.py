# SPDX-License-Identifier: Apache-2.0
"""What the engine says of an application at one moment, as values.

The names are those of the engine's document. What was not measured is ``None``, never 0. Times that end in ``_ms`` and
stand beside others are milliseconds of the driver's clock since 1970; durations are milliseconds too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Self

from headrace.observe.reading import build


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantiles:
    """How long something took, in milliseconds.

    Attributes:
        buckets: Pairs of an upper bound and how many records lie below it and above the one before; ``None`` stands for
            all above the last bound. Empty ones are left out. All have bounds of one ladder, so they can be added up.
    """

    count: int
    p50: float
    p90: float
    p99: float
    p999: float
    max: float
    mean: float
    buckets: tuple[tuple[float | None, int], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Timers:
    """Output that timers made: it has no record that it could be late for."""

    count: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """Latency, and the parts it consists of."""

    end_to_end: Quantiles | None
    queueing: Quantiles | None
    processing: Quantiles | None
    delivery: Quantiles | None
    timers: Timers | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Spans:
    """The same for the last ten seconds, and since the run began."""

    recent: Parts
    total: Parts


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """With what a query has ended."""

    condition: str | None
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Epoch:
    """The epoch that runs."""

    number: int
    started_ms: int
    interval_ms: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Boundary:
    """A change from one epoch to the next; the gap is the time in which nothing was read."""

    time_ms: int
    gap_ms: float | None
    epoch: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Commits:
    """When progress became durable."""

    last_ms: int | None
    age_ms: float | None
    times_ms: tuple[int, ...]
    interval_ms: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Slice:
    """One second of latency, end to end."""

    time_ms: int
    buckets: tuple[tuple[float | None, int], ...]
    read: int | None = field(metadata={"key": "in"})
    written: int | None = field(metadata={"key": "out"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """Records a second."""

    read: float | None = field(metadata={"key": "in"})
    written: float | None = field(metadata={"key": "out"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Lag:
    """How far a query is behind the newest input."""

    records: int | None
    seconds: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class BusyKey:
    """The key that comes most often, and its share of the records, which is at least so much."""

    key: str
    share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Partition:
    """A partition that a query reads."""

    topic: str
    partition: int
    rate: float | None
    lag_records: int | None
    p99: float | None
    count: int | None
    host: str | None
    executor: str | None
    busiest_key: BusyKey | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Skew:
    """The busiest task of a stage, and its share of the stage's rows."""

    hot: int
    share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """A stage of a query.

    Attributes:
        feeds: The stages behind it.
        rows_out: Rows a second.
        processing: How long a row spends in it.
        queue: How full the buffers behind it are, from 0 to 1.
    """

    id: int
    name: str
    operators: tuple[str, ...]
    feeds: tuple[int, ...]
    tasks: int | None
    rows_out: float | None
    processing: Quantiles | None
    queue: float | None
    skew: Skew | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Worker:
    """A Python process that runs a user's functions for a task.

    Attributes:
        busy: The share of its time that it works, from 0 to 1.
        batch_p50: How long half of all batches take at most.
    """

    pid: int | None
    host: str | None
    executor: str | None
    functions: tuple[str, ...]
    stage: int | None
    task: int | None
    rows: int | None
    busy: float | None
    batch_p50: float | None
    memory_mb: float | None
    alive: bool | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """A record that was written, as text that may be cut off."""

    time_ms: int
    topic: str | None
    key: str | None
    value: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """A run of a query; its id is known once it has begun, and the same in each of its runs."""

    id: str | None
    run: str
    name: str | None
    mode: str | None
    state: str
    started_ms: int | None
    ended_ms: int | None
    error: Failure | None
    delivery: str | None
    epoch: Epoch | None
    boundaries: tuple[Boundary, ...]
    commits: Commits | None
    latency: Spans | None
    slices: tuple[Slice, ...]
    creation: str | None
    rate: Rate | None
    lag: Lag | None
    partitions: tuple[Partition, ...]
    stages: tuple[Stage, ...]
    python: tuple[Worker, ...]
    tail: tuple[Output, ...]
    dead_letters: int | None

    @property
    def label(self) -> str:
        """Its name, or the beginning of its id."""
        return self.name or self.key[:8]

    @property
    def key(self) -> str:
        """By which it is known: its id, or as long as it has none that of the run."""
        return self.id or self.run


@dataclass(frozen=True, kw_only=True, slots=True)
class Executor:
    """A JVM that runs tasks, and how long its garbage collector stops it."""

    id: str
    host: str | None
    gc_ms_per_s: float | None
    gc_max_ms: float | None
    heap_used_mb: float | None
    heap_max_mb: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Application:
    """The Spark application."""

    id: str
    name: str
    spark: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """An application at one moment."""

    time_ms: int
    application: Application | None
    queries: tuple[Query, ...]
    executors: tuple[Executor, ...]

    @classmethod
    def read(cls, text: str) -> Self:
        """Reads the engine's document.

        Raises:
            ValueError: It is not one.
        """
        return build(cls, json.loads(text))
