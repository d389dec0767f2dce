# SPDX-License-Identifier: Apache-2.0
"""The places where an engine's processor time may go, and how threads and stack frames tell them."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FETCH = "broker client: fetch"
SEND = "broker client: send"
JSON = "rows: JSON"
ROWS = "rows: other operators"
SHUFFLE = "shuffle"
STATE = "state"
BRIDGE = "to Python and back"
TASKS = "tasks: start and end"
DRIVER = "driver: epochs, plans, logs"
SCHEDULER = "driver: scheduling"
WATCHERS = "listeners and event log"
GC = "garbage collection"
JIT = "JIT compiler"
PROFILER = "profiler"
PYTHON = "Python processes"
FORKS = "processes forked for files"
ENDED = "threads that ended"
BROKER = "broker"
OTHER = "other"

# Linux cuts a thread's name off behind this many characters.
NAME_LENGTH = 15
_BY_THREAD = {
    "GC Thread": GC,
    "G1 ": GC,
    "VM Thread": GC,
    "C1 Compiler": JIT,
    "C2 Compiler": JIT,
    "Sweeper thread": JIT,
    "JFR ": PROFILER,
    "Attach Listener": PROFILER,
    "stream executio": DRIVER,
    "async-log": DRIVER,
    "state-store-mai": STATE,
    "dag-scheduler-e": SCHEDULER,
    "dispatcher-": SCHEDULER,
    "task-result-get": SCHEDULER,
    "driver-heartbea": SCHEDULER,
    "executor-heartb": SCHEDULER,
    "heartbeat-recei": SCHEDULER,
    "spark-listener-": WATCHERS,
    "kafka-producer-": SEND,
    "time-based-flus": SHUFFLE,
    "headrace-topic-": DRIVER,
}
"""Threads that have one job, by how their names begin."""
_BY_FRAME = {
    "org.apache.kafka.clients.consumer": FETCH,
    "headrace.kafka.RealTimeReader": FETCH,
    "headrace.kafka.AssignedConsumer": FETCH,
    "headrace.kafka.RecordRow": FETCH,
    "org.apache.spark.sql.kafka010": FETCH,
    "org.apache.kafka.clients.producer": SEND,
    "headrace.kafka.KafkaWriter": SEND,
    "headrace.kafka.RowToRecord": SEND,
    "org.apache.spark.sql.kafka010.producer": SEND,
    "org.apache.spark.sql.kafka010.KafkaRowWriter": SEND,
    "org.apache.spark.sql.kafka010.KafkaDataWriter": SEND,
    "org.apache.spark.sql.kafka010.KafkaStreamDataWriter": SEND,
    "com.fasterxml.jackson": JSON,
    "org.apache.spark.sql.catalyst.json": JSON,
    "org.apache.spark.sql.catalyst.expressions.json": JSON,
    "org.apache.spark.sql.catalyst": ROWS,
    "org.apache.spark.sql.execution": ROWS,
    "org.apache.spark.shuffle": SHUFFLE,
    "org.apache.spark.network": SHUFFLE,
    "org.apache.spark.sql.execution.UnsafeRowSerializer": SHUFFLE,
    "io.netty": SHUFFLE,
    "org.apache.spark.sql.execution.streaming.state": STATE,
    "org.apache.spark.sql.execution.streaming.operators.stateful": STATE,
    "org.rocksdb": STATE,
    "org.apache.spark.api.python": BRIDGE,
    "org.apache.spark.sql.execution.python": BRIDGE,
    "org.apache.arrow": BRIDGE,
    "org.apache.spark.executor": TASKS,
    "org.apache.spark.scheduler": TASKS,
    "org.apache.spark.storage": TASKS,
}
"""Code that tells what a thread of many jobs is at, by how its classes begin; the longest beginning counts."""


def of_sample(thread: str, stack: Sequence[str]) -> str:
    """Returns the place of a sample: by its thread, else by the frame nearest to the top that tells one."""
    place = _place_of_thread(thread)
    if place is not None:
        return place
    return next((place for frame in stack if (place := _place_of_frame(frame)) is not None), OTHER)


def costs(threads: Mapping[str, float], samples: Iterable[tuple[str, Sequence[str]]]) -> dict[str, float]:
    """Returns the processor time of each place.

    Samples see Java only, and some threads more often than others. So the time is what the system counted for threads
    of a name; samples of these threads just divide it.

    Args:
        threads: The processor time of a JVM's threads, by name.
        samples: The thread and the stack, from the top, of each sample.
    """
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for thread, stack in samples:
        counted[thread[:NAME_LENGTH]][of_sample(thread, stack)] += 1
    by_place: dict[str, float] = defaultdict(float)
    for thread, seconds in threads.items():
        seen = counted.get(thread) or {_place_of_thread(thread) or OTHER: 1}
        for place, times in seen.items():
            by_place[place] += seconds * times / sum(seen.values())
    return dict(by_place)


def _place_of_thread(name: str) -> str | None:
    return next((place for beginning, place in _BY_THREAD.items() if name.startswith(beginning)), None)


def _place_of_frame(frame: str) -> str | None:
    known = [beginning for beginning in _BY_FRAME if frame.startswith(beginning)]
    return _BY_FRAME[max(known, key=len)] if known else None
