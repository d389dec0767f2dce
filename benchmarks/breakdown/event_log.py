# SPDX-License-Identifier: Apache-2.0
"""Reads the times of epochs out of Spark's event log."""

from __future__ import annotations

import datetime as dt
import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

PROGRESS = "org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent"
STATE_COMMIT = "time to commit changes"
CHANGELOG = "RocksDB: commit - changelog commit time"
STATE_LOAD = "RocksDB: load - time taken to load the store"
"""What Spark calls the metrics of a task that has state."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Epoch:
    """One epoch on the driver's clock; times in milliseconds since 1970."""

    number: int
    trigger_ms: int
    """When the driver turned to this epoch."""
    job_start_ms: int
    last_launch_ms: int
    last_finish_ms: int
    job_end_ms: int
    state_commit_ms: int
    """How long the slowest task took to commit its state."""
    changelog_ms: int
    """How long the slowest task took for the file with the changes, which is part of its commit."""
    state_load_ms: int
    """How long the fastest task took to load its state; the first answer need not wait for the others."""
    durations_ms: dict[str, int]
    """What the driver's thread did, as Spark reports it: `walCommit`, `queryPlanning` and others."""


@dataclass(slots=True)
class _Job:
    start_ms: int
    stages: list[int]
    end_ms: int = 0


@dataclass(slots=True)
class _Tasks:
    launches_ms: list[int] = field(default_factory=list)
    finishes_ms: list[int] = field(default_factory=list)
    metrics: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))


def read(folder: Path) -> list[Epoch]:
    """Returns the epochs in the event log of the only application that a folder has one of."""
    [file] = [path for path in folder.iterdir() if not path.name.startswith(".")]
    with file.open(encoding="utf-8") as lines:
        return epochs(json.loads(line) for line in lines)


def epochs(events: Iterable[dict[str, Any]]) -> list[Epoch]:
    """Returns the epochs of which the events tell the whole story, in order."""
    log = _Log()
    for event in events:
        log.take(event)
    return log.epochs()


class _Log:
    def __init__(self) -> None:
        self._jobs: dict[int, _Job] = {}
        self._job_of: dict[int, int] = {}
        self._tasks: dict[int, _Tasks] = defaultdict(_Tasks)
        self._progress: dict[int, dict[str, Any]] = {}

    def take(self, event: dict[str, Any]) -> None:
        match event["Event"]:
            case "SparkListenerJobStart":
                self._start(event)
            case "SparkListenerTaskEnd":
                self._end_task(event)
            case "SparkListenerJobEnd" if event["Job ID"] in self._jobs:
                self._jobs[event["Job ID"]].end_ms = event["Completion Time"]
            case kind if kind == PROGRESS:
                progress = event["progress"]
                self._progress[progress["batchId"]] = progress

    def _start(self, event: dict[str, Any]) -> None:
        number = event.get("Properties", {}).get("streaming.sql.batchId")
        if number is not None:
            self._jobs[event["Job ID"]] = _Job(event["Submission Time"], event["Stage IDs"])
            self._job_of[int(number)] = event["Job ID"]

    def _end_task(self, event: dict[str, Any]) -> None:
        tasks, info = self._tasks[event["Stage ID"]], event["Task Info"]
        tasks.launches_ms.append(info["Launch Time"])
        tasks.finishes_ms.append(info["Finish Time"])
        for metric in info["Accumulables"]:
            if metric.get("Name") in (STATE_COMMIT, CHANGELOG, STATE_LOAD) and "Update" in metric:
                tasks.metrics[metric["Name"]].append(int(metric["Update"]))

    def epochs(self) -> list[Epoch]:
        known = sorted(self._progress.keys() & self._job_of.keys())
        return [epoch for number in known if (epoch := self._epoch(number)) is not None]

    def _epoch(self, number: int) -> Epoch | None:
        # An epoch that had to prepare something, such as a table to join with, ran other jobs before.
        job, progress = self._jobs[self._job_of[number]], self._progress[number]
        tasks = [self._tasks[stage] for stage in job.stages]
        if not job.end_ms or not all(each.finishes_ms for each in tasks):
            return None
        return Epoch(
            number=number,
            trigger_ms=_milliseconds(progress["timestamp"]),
            job_start_ms=job.start_ms,
            last_launch_ms=max(at for each in tasks for at in each.launches_ms),
            last_finish_ms=max(at for each in tasks for at in each.finishes_ms),
            job_end_ms=job.end_ms,
            state_commit_ms=max(_metric(tasks, STATE_COMMIT), default=0),
            changelog_ms=max(_metric(tasks, CHANGELOG), default=0),
            state_load_ms=min(_metric(tasks, STATE_LOAD), default=0),
            durations_ms={name: int(ms) for name, ms in progress["durationMs"].items()},
        )


def _metric(tasks: list[_Tasks], name: str) -> list[int]:
    return [ms for each in tasks for ms in each.metrics[name]]


def _milliseconds(timestamp: str) -> int:
    return round(dt.datetime.fromisoformat(timestamp).timestamp() * 1000)
