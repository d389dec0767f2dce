# SPDX-License-Identifier: Apache-2.0
"""No engine either: a loop in plain Python, or in Java, between two topics, for what two passes of the broker take."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from engines.engine import CannotError, Command
from engines.script_loop import WORKLOADS

from headrace.engine.ivy import read_lock, resolve, spark_jars_folder
from headrace.engine.java import find_java
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from engines.engine import Job

_LOOP = Path(__file__).with_name("script_loop.py")
_JAVA_LOOP = Path(__file__).with_name("ScriptLoop.java")


class Script:
    """What two passes through the broker cost when nothing is promised in between."""

    name = "script"
    title = "a loop in plain Python"

    def install(self) -> None:
        """See Engine; the harness has the client itself."""

    def command(self, job: Job) -> Command:
        """See Engine."""
        _check(job)
        words = ["--workload", job.workload, "--bootstrap", job.bootstrap, "--source", job.source, "--sink", job.sink]
        words += ["--partitions", str(job.partitions)]
        return Command([sys.executable, str(_LOOP), *words], {"PYTHONPATH": str(_LOOP.parent.parent)})

    def versions(self) -> dict[str, str]:
        """See Engine."""
        return {"confluent-kafka": metadata.version("confluent-kafka")}

    def settings(self, _job: Job) -> dict[str, str]:
        """See Engine."""
        return {"producer linger.ms": "0", "commits": "none: after a kill it begins anew"}

    def slots(self, _job: Job) -> int:
        """See Engine."""
        return 1

    def commits(self, _job: Job) -> list[float]:
        """See Engine."""
        return []


class ScriptInJava(Script):
    """The same without Python, through the client that every engine in a JVM has."""

    name = "script-java"
    title = "a loop in plain Java"

    def install(self) -> None:
        """See Engine."""
        try:
            resolve("kafka-clients")
        except HeadraceError as reason:
            raise CannotError(str(reason)) from reason

    def command(self, job: Job) -> Command:
        """See Engine."""
        _check(job)
        path = ":".join(str(jar) for jar in (*resolve("kafka-clients"), spark_jars_folder() / "*"))
        words = [job.workload, job.bootstrap, job.source, job.sink, str(job.partitions)]
        return Command([str(find_java()), "-cp", path, str(_JAVA_LOOP), *words])

    def versions(self) -> dict[str, str]:
        """See Engine."""
        return {jar.name: jar.version for jar in read_lock("kafka-clients")}


def _check(job: Job) -> None:
    if job.workload not in WORKLOADS:
        message = f"{job.workload} is more than a loop over records; this one calls a function and forgets"
        raise CannotError(message)
