# SPDX-License-Identifier: Apache-2.0
"""The door to the probes that `engine/build.py --tests` compiles from ``engine/src/test``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

JAR = Path(__file__).parents[2] / "build" / "headrace-engine-tests.jar"


def with_probes(conf: Mapping[str, str]) -> dict[str, str]:
    """Adds what a session needs to have the probes in it."""
    assert JAR.exists(), "run engine/build.py --tests first; make test does"
    return {"spark.jars": str(JAR), "spark.sql.extensions": "headrace.probe.ReadAheadExtension", **conf}


def jvm_class(spark: SparkSession, name: str) -> Any:  # noqa: ANN401 what py4j hands out
    """Returns a class of the JVM, by its full name."""
    found: Any = spark._jvm
    for part in name.split("."):
        found = getattr(found, part)
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """A task of an epoch; ``ended_ms`` is ``None`` while it runs."""

    query: str
    run: str
    stage: int
    index: int
    executor: str
    epoch: int
    started_ms: int
    succeeded: bool
    ended_ms: int | None = None


class TaskRecorder:
    """Notes when the tasks of streaming queries begin and end, from its creation on."""

    def __init__(self, spark: SparkSession) -> None:
        self._listener = jvm_class(spark, "headrace.probe.TaskRecorder")()
        self._context: Any = spark.sparkContext._jsc.sc()
        self._context.addSparkListener(self._listener)

    def tasks(self, query_id: str | None = None) -> list[Task]:
        """Returns the tasks of one query, or of all, in the order in which they began."""
        # Spark tells its listeners a little later than it happens.
        self._context.listenerBus().waitUntilEmpty()
        tasks = [Task(**task) for task in json.loads(self._listener.tasks())]
        return [task for task in tasks if query_id in (None, task.query)]

    def close(self) -> None:
        """Stops listening."""
        self._context.removeSparkListener(self._listener)


class LogRecorder:
    """Keeps what the driver logs, from its creation on."""

    def __init__(self, spark: SparkSession) -> None:
        self._recorder = jvm_class(spark, "headrace.probe.LogRecorder")()

    def text(self) -> str:
        """Returns the messages so far, one a line, each behind its level."""
        return str(self._recorder.text())

    def close(self) -> None:
        """Stops listening."""
        self._recorder.close()
