# SPDX-License-Identifier: Apache-2.0
"""Apache Flink in one process, started through PyFlink: jobs written in SQL, and jobs that call Python."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from engines.engine import CannotError, Command
from engines.own_venv import own_venv, pinned

from headrace.engine.ivy import read_lock, resolve
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from engines.engine import Job

_HERE = Path(__file__).parent
_REQUIREMENTS = _HERE / "flink.txt"
_CONNECTOR = _HERE / "flink-kafka.lock"
_PYTHON_WORKLOADS = frozenset({"udf", "pandas", "state"})
# A result is seen when the checkpoint behind it is complete; at the checkpoint interval every record would wait for
# seconds. Quix Streams has the same.
_TRANSACTION_MS = 100
_LATENCY = {
    "execution.buffer-timeout.interval": "0 ms",
    "pipeline.object-reuse": "true",
}
_STATE = {
    # An engine is parked for minutes while the others are measured; its parts must not take each other for dead.
    "heartbeat.timeout": "30 min",
    "execution.checkpointing.timeout": "30 min",
    "state.backend.type": "rocksdb",
    "execution.checkpointing.incremental": "true",
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    # All of them, because each one's age is how commits() knows when it was made.
    "execution.checkpointing.num-retained": "100000",
    # A failure ends the process: the harness must see it, and the recovery benchmark restarts by itself.
    "restart-strategy.type": "none",
    "taskmanager.memory.managed.size": "512 mb",
}


class Bundles(Enum):
    """How PyFlink hands records to Python, each with what is set for it."""

    DEFAULT = ("pyflink", "PyFlink", dict[str, str]())
    """Up to 1,000 records or 1 s, whichever comes first."""
    TUNED = ("pyflink-tuned", "PyFlink, 1 ms bundles", {"python.fn-execution.bundle.time": "1"})
    THREAD = (
        "pyflink-thread",
        "PyFlink, 1 ms bundles, Python inside the JVM",
        {"python.fn-execution.bundle.time": "1", "python.execution-mode": "thread"},
    )

    def __init__(self, engine: str, title: str, settings: dict[str, str]) -> None:
        """Takes what stands in the tuple of a member."""
        self.engine = engine
        self.title = title
        self.settings = settings


class Flink:
    """Flink SQL, tuned for latency; nothing of it runs in Python once the job has started."""

    name = "flink"
    title = "Apache Flink"

    def install(self) -> None:
        """See Engine."""
        _install()

    def command(self, job: Job) -> Command:
        """See Engine."""
        if job.workload in _PYTHON_WORKLOADS:
            message = "Flink SQL by itself calls no Python: measured as pyflink"
            raise CannotError(message)
        return _command(job, self.settings(job))

    def versions(self) -> dict[str, str]:
        """See Engine."""
        return _versions()

    def settings(self, job: Job) -> dict[str, str]:
        """See Engine."""
        return _settings(job)

    def slots(self, job: Job) -> int:
        """See Engine; the tasks of all stages share a slot."""
        return job.partitions

    def commits(self, job: Job) -> list[float]:
        """See Engine."""
        return _commits(job)


class PyFlink:
    """Flink jobs that call Python; the same tuning, and a choice of how records are handed to Python."""

    def __init__(self, bundles: Bundles = Bundles.DEFAULT) -> None:
        """Takes how records are handed to Python."""
        self.name = bundles.engine
        self.title = bundles.title
        self._bundles = bundles

    def install(self) -> None:
        """See Engine."""
        _install()

    def command(self, job: Job) -> Command:
        """See Engine."""
        if job.workload not in _PYTHON_WORKLOADS:
            message = "no Python in this workload: measured as flink"
            raise CannotError(message)
        if job.workload == "pandas" and self._bundles is Bundles.THREAD:
            message = "pandas functions run in a process of their own even so: measured as pyflink-tuned"
            raise CannotError(message)
        return _command(job, self.settings(job))

    def versions(self) -> dict[str, str]:
        """See Engine."""
        return _versions() | {"apache-beam": pinned(_REQUIREMENTS, "apache-beam")}

    def settings(self, job: Job) -> dict[str, str]:
        """See Engine."""
        return _settings(job) | self._bundles.settings

    def slots(self, job: Job) -> int:
        """See Engine; the tasks of all stages share a slot, the Python processes beside them hold none."""
        return job.partitions

    def commits(self, job: Job) -> list[float]:
        """See Engine."""
        return _commits(job)


def _install() -> None:
    own_venv(_REQUIREMENTS)
    try:
        resolve(_CONNECTOR)
    except HeadraceError as cause:
        message = f"Flink's Kafka connector cannot be fetched: {cause}"
        raise CannotError(message) from cause


def _command(job: Job, settings: dict[str, str]) -> Command:
    words = [str(own_venv(_REQUIREMENTS)), str(_HERE / "flink_job.py")]
    words += ["--workload", job.workload, "--bootstrap", job.bootstrap, "--source", job.source, "--sink", job.sink]
    words += ["--folder", str(job.folder)]
    for key, value in settings.items():
        words += ["--set", f"{key}={value}"]
    words += [f"--jar={jar}" for jar in resolve(_CONNECTOR)]
    # Flink would log into the virtual environment, all jobs into one file.
    return Command(words, {"PYTHONPATH": str(_HERE.parent), "FLINK_LOG_DIR": str(job.folder / "log")})


def _versions() -> dict[str, str]:
    connector = {jar.name: jar.version for jar in read_lock(_CONNECTOR)}
    return {"apache-flink": pinned(_REQUIREMENTS, "apache-flink")} | connector


def _settings(job: Job) -> dict[str, str]:
    interval_ms = _TRANSACTION_MS if job.workload == "exactly-once" else job.checkpoint_ms
    own = {
        "parallelism.default": str(job.partitions),
        "execution.checkpointing.interval": f"{interval_ms} ms",
    }
    # Flink's client waits for more records by default since Kafka 4.0; a setting of the table, not of the job.
    return own | _LATENCY | _STATE | {"table.properties.linger.ms": "0"}


def _commits(job: Job) -> list[float]:
    """A checkpoint is made durable by its metadata, which Flink moves in whole."""
    return sorted(metadata.stat().st_mtime for metadata in job.folder.glob("checkpoints/*/chk-*/_metadata"))
