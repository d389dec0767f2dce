# SPDX-License-Identifier: Apache-2.0
"""What the harness asks of an engine: a command that reads one topic, runs one workload and writes another topic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One engine running one workload."""

    workload: str
    bootstrap: str
    source: str
    """The topic that is read, from its first record on unless the checkpoint says otherwise."""
    sink: str
    folder: Path
    """Where the job keeps its checkpoint, its state and whatever else; the same again after a kill."""
    checkpoint_ms: int = 5000
    """How often progress is made durable."""
    partitions: int = 2
    """Partitions of both topics; tasks of each stage behind a shuffle, too."""


@dataclass(frozen=True, slots=True)
class Command:
    """A process that runs a job until its standard input ends or SIGTERM comes."""

    words: list[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    """What is added to the environment of the harness."""


class CannotError(Exception):
    """An engine cannot run a workload, or cannot be installed; the message says why."""


class Engine(Protocol):
    """One engine. Same broker, same topics, same partitions, same checkpoint interval for all."""

    name: str
    title: str

    def install(self) -> None:
        """Brings what the engine needs onto this machine; quick when it is there.

        Raises:
            CannotError: It cannot be installed here.
        """

    def command(self, job: Job) -> Command | None:
        """Returns the process that runs a job; none if there is nothing between the broker's two sides.

        Raises:
            CannotError: The engine does not have what the workload needs, known without trying. What only a try can
                tell (an engine that refuses the query) is found by the harness in the process's end and output.
        """

    def versions(self) -> dict[str, str]:
        """Returns the versions of what takes part; called after install."""

    def settings(self, job: Job) -> dict[str, str]:
        """Returns what was set in the engine beyond its defaults, for the result file."""

    def slots(self, job: Job) -> int:
        """Returns how many task slots the job holds while it runs."""

    def commits(self, job: Job) -> list[float]:
        """Returns when progress was made durable, in seconds since 1970, as far as the job's folder tells."""
