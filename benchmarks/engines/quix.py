# SPDX-License-Identifier: Apache-2.0
"""Quix Streams: a library of Python functions over librdkafka, with RocksDB for state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engines.engine import CannotError, Command
from engines.own_venv import own_venv, pinned

if TYPE_CHECKING:
    from engines.engine import Job

_HERE = Path(__file__).parent
_REQUIREMENTS = _HERE / "quix.txt"
# At the job's checkpoint interval a record would wait for its commit for seconds; Kafka Streams' default is what a
# user with an eye on latency takes.
_TRANSACTION_MS = 100


class Quix:
    """One process of Quix Streams, tuned for latency."""

    name = "quix"
    title = "Quix Streams"

    def install(self) -> None:
        """See Engine."""
        own_venv(_REQUIREMENTS)

    def command(self, job: Job) -> Command:
        """See Engine."""
        if job.workload == "pandas":
            message = "Quix Streams has no pandas functions: it hands each record to Python by itself"
            raise CannotError(message)
        words = [str(own_venv(_REQUIREMENTS)), str(_HERE / "quix_app.py")]
        words += ["--workload", job.workload, "--bootstrap", job.bootstrap, "--source", job.source, "--sink", job.sink]
        words += ["--folder", str(job.folder), "--partitions", str(job.partitions)]
        words += ["--commit-ms", str(_commit_ms(job))]
        return Command(words, {"PYTHONPATH": str(_HERE.parent)})

    def versions(self) -> dict[str, str]:
        """See Engine."""
        return {package: pinned(_REQUIREMENTS, package) for package in ("quixstreams", "confluent-kafka", "rocksdict")}

    def settings(self, job: Job) -> dict[str, str]:
        """See Engine."""
        return {
            "processes": "1",
            "commit_interval": f"{_commit_ms(job) / 1000} s",
            "processing_guarantee": "exactly-once" if job.workload == "exactly-once" else "at-least-once",
            "consumer_poll_timeout": f"{min(1000, _commit_ms(job)) / 1000} s",
            "producer linger.ms": "0",
            "consumer group.instance.id": "set, so that a restart need not wait for the session to time out",
        }

    def slots(self, _job: Job) -> int:
        """See Engine."""
        return 1

    def commits(self, _job: Job) -> list[float]:
        """See Engine; Quix Streams keeps its commits in Kafka, and no trace of when in the folder."""
        return []


def _commit_ms(job: Job) -> int:
    return _TRANSACTION_MS if job.workload == "exactly-once" else job.checkpoint_ms
