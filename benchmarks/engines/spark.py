# SPDX-License-Identifier: Apache-2.0
"""The engines that are Spark: Headrace, stock real-time mode, micro-batches and continuous processing.

All four run one program on one PySpark, with the same master, and with Spark's own heap and garbage collector.
"""

from __future__ import annotations

import contextlib
import shlex
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from engines.engine import CannotError, Command

from headrace.engine import ivy
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from engines.engine import Job

PROGRAM = Path(__file__).with_name("spark_query.py")
STOCK_CONNECTOR = Path(__file__).with_name("stock-kafka.lock")
EXACTLY_ONCE = "exactly-once"
# A real-time query runs all its stages at once; a workload that is not named here has one.
STAGES = {"count": 2, "window": 2, "dedup": 2, "state": 2, "shuffles": 3}
# Those whose Python function SQL can compute as well.
WITH_FUNCTIONS = ("udf", "pandas")
LEAST_SLOTS = 16
# The shortest epoch that real-time mode accepts from stock settings.
LEAST_EPOCH_MS = 5000
HOURS_MS = 6 * 3_600_000
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


class _SparkEngine:
    """What the four have in common."""

    trigger: str

    def install(self) -> None:
        """See Engine."""
        try:
            self.versions()
        except metadata.PackageNotFoundError as error:
            message = f"{error.name} is not installed beside PySpark; run `make setup`"
            raise CannotError(message) from error

    def versions(self) -> dict[str, str]:
        """See Engine."""
        return {name: metadata.version(name) for name in ("pyspark", "pandas", "pyarrow", "protobuf")}

    def settings(self, job: Job) -> dict[str, str]:
        """See Engine."""
        return {"trigger": f"{self.trigger} every {self.interval_ms(job)} ms", "master": _master(job), **self.conf(job)}

    def slots(self, job: Job) -> int:
        """See Engine."""
        return _tasks_of_all_stages(job)

    def commits(self, job: Job) -> list[float]:
        """See Engine; Spark removes all but about the last hundred."""
        times: list[float] = []
        for file in (_checkpoint(job) / "commits").glob("*"):
            # Others are hidden checksums and, for a moment, temporary files. Any of them may be removed meanwhile.
            if file.name.isdecimal():
                with contextlib.suppress(FileNotFoundError):
                    times.append(file.stat().st_mtime)
        return sorted(times)

    def interval_ms(self, job: Job) -> int:
        """Returns the interval of the trigger."""
        return job.checkpoint_ms

    def conf(self, job: Job) -> dict[str, str]:
        """Returns what is set in Spark and may matter; the same for all as far as it goes."""
        return {
            # By default 200: real-time mode would need as many slots, and a micro-batch would start as many tasks.
            "spark.sql.shuffle.partitions": str(job.partitions),
            # An engine is parked for minutes while others are measured; its parts must not take each other for dead.
            "spark.network.timeout": "30min",
            # Nothing that only watches: no web page, no progress bar, no warnings on the console.
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
        }

    def program(self, job: Job) -> list[str]:
        """Returns the program and its arguments."""
        return [
            str(PROGRAM),
            *("--workload", job.workload, "--trigger", self.trigger, "--interval-ms", str(self.interval_ms(job))),
            *("--bootstrap", job.bootstrap, "--source", job.source, "--sink", job.sink),
            *("--partitions", str(job.partitions), "--checkpoint", str(_checkpoint(job))),
        ]


class Headrace(_SparkEngine):
    """Spark's real-time mode with Headrace."""

    name = "headrace"
    title = "Headrace"
    trigger = "realTime"

    def versions(self) -> dict[str, str]:
        """See Engine."""
        return {"headrace": metadata.version("headrace"), **super().versions(), **_jar_versions("kafka-clients")}

    def command(self, job: Job) -> Command:
        """See Engine."""
        headrace = str(Path(sys.executable).with_name("headrace"))
        conf = _as_arguments({**self.conf(job), **_places(job)})
        return Command([headrace, "run", "--master", _master(job), *conf, *self.program(job)], _python())


class HeadraceWithoutCommits(Headrace):
    """Headrace with commits so far apart that none falls into a window: what they cost is the difference."""

    name = "headrace-off"
    title = "Headrace without commits"

    def interval_ms(self, _job: Job) -> int:
        """See _SparkEngine."""
        return HOURS_MS

    def program(self, job: Job) -> list[str]:
        """See _SparkEngine."""
        return [*super().program(job), "--sink-option", f"commitInterval={HOURS_MS}ms"]


class HeadraceUnobserved(Headrace):
    """Headrace that measures nothing itself: what its latency histograms cost is the difference."""

    name = "headrace-unobserved"
    title = "Headrace without its own measuring"

    def conf(self, job: Job) -> dict[str, str]:
        """See _SparkEngine."""
        return {**super().conf(job), "spark.headrace.observe": "false"}


class HeadraceInSql(Headrace):
    """Headrace with SQL in the place of a Python function: what Python costs is the difference."""

    name = "headrace-sql"
    title = "Headrace, in SQL"

    def command(self, job: Job) -> Command:
        """See Engine."""
        if job.workload not in WITH_FUNCTIONS:
            message = f"{job.workload} calls no Python function"
            raise CannotError(message)
        return super().command(job)

    def program(self, job: Job) -> list[str]:
        """See _SparkEngine."""
        return [*super().program(job), "--in-sql"]


class _StockEngine(_SparkEngine):
    """Spark as it comes, with its own Kafka connector."""

    def install(self) -> None:
        """See Engine."""
        super().install()
        _stock_jars()

    def versions(self) -> dict[str, str]:
        """See Engine."""
        return {**super().versions(), **_jar_versions(STOCK_CONNECTOR)}

    def command(self, job: Job) -> Command:
        """See Engine."""
        if job.workload == EXACTLY_ONCE:
            message = "Spark's Kafka sink delivers at least once; it has no transactions"
            raise CannotError(message)
        conf = _as_arguments({**self.conf(job), **_places(job), "spark.jars": _stock_jars()})
        arguments = shlex.join(["--master", _master(job), *conf, "pyspark-shell"])
        return Command([sys.executable, *self.program(job)], {**_python(), "PYSPARK_SUBMIT_ARGS": arguments})


class StockRealTime(_StockEngine):
    """Spark's real-time mode as it comes: nothing is set that it would run without."""

    name = "stock"
    title = "Spark real-time mode"
    trigger = "realTime"

    def conf(self, job: Job) -> dict[str, str]:
        """See _SparkEngine."""
        conf = super().conf(job)
        if job.checkpoint_ms < LEAST_EPOCH_MS:
            conf["spark.sql.streaming.realTimeMode.minBatchDuration"] = f"{job.checkpoint_ms}ms"
        return conf


class MicroBatch(_StockEngine):
    """Spark's micro-batches; each of them makes its progress durable."""

    trigger = "processingTime"

    def __init__(self, every_ms: int = 0) -> None:
        """Takes the interval between the starts of two batches; 0 starts each as soon as the last one has ended."""
        self._every_ms = every_ms
        self.name = f"micro-batch-{every_ms}" if every_ms else "micro-batch"
        self.title = f"Spark micro-batch, every {every_ms} ms" if every_ms else "Spark micro-batch"

    def slots(self, job: Job) -> int:
        """See Engine; the stages of a batch run one after the other."""
        return job.partitions

    def interval_ms(self, _job: Job) -> int:
        """See _SparkEngine."""
        return self._every_ms

    def conf(self, job: Job) -> dict[str, str]:
        """See _SparkEngine."""
        conf = super().conf(job)
        if job.workload == "state":
            # Spark keeps the state of transformWithState nowhere else.
            conf["spark.sql.streaming.stateStore.providerClass"] = ROCKSDB
        return conf


class Continuous(_StockEngine):
    """Spark's continuous processing, which came before real-time mode and never learnt to keep state."""

    name = "continuous"
    title = "Spark continuous processing"
    trigger = "continuous"


def _tasks_of_all_stages(job: Job) -> int:
    return STAGES.get(job.workload, 1) * job.partitions


def _master(job: Job) -> str:
    return f"local[{max(LEAST_SLOTS, _tasks_of_all_stages(job))}]"


def _checkpoint(job: Job) -> Path:
    return job.folder / "checkpoint"


def _places(job: Job) -> dict[str, str]:
    # So that the job's folder is all that a killed job leaves behind.
    return {
        "spark.local.dir": str(job.folder / "scratch"),
        "spark.sql.warehouse.dir": str(job.folder / "warehouse"),
    }


def _as_arguments(conf: dict[str, str]) -> list[str]:
    return [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]


def _python() -> dict[str, str]:
    # Else Python workers would run whatever `python3` comes first on the path.
    return {"PYSPARK_PYTHON": sys.executable}


def _stock_jars() -> str:
    try:
        return ",".join(str(jar) for jar in ivy.resolve(STOCK_CONNECTOR))
    except HeadraceError as error:
        raise CannotError(str(error)) from error


def _jar_versions(bundle: str | Path) -> dict[str, str]:
    return {jar.name: jar.version for jar in ivy.read_lock(bundle) if "kafka" in jar.name}
