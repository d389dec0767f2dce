# SPDX-License-Identifier: Apache-2.0
"""Speaks with Spark's JVM; the others in this folder that do are ``failures`` and ``writers``."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from headrace.errors import EngineInactiveError, EngineMismatchError, ForeignConnectorError, JvmAlreadyRunningError
from headrace.options import EXTENSION, KAFKA_PROVIDER, PLUGIN

if TYPE_CHECKING:
    from pyspark.sql.streaming import DataStreamWriter

_JVM_EXIT_SECONDS = 30


def is_running() -> bool:
    """Says whether this process has a JVM of Spark's, its own or that of the spark-submit that started it."""
    return SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ  # noqa: SLF001


def is_application_running() -> bool:
    """Says whether a Spark application is running in this process."""
    return SparkContext._active_spark_context is not None  # noqa: SLF001


def has_engine() -> bool:
    """Says whether the engine is on the class path of the running JVM and, if there is one, in its application."""
    context = SparkContext._active_spark_context  # noqa: SLF001
    if context is not None and PLUGIN not in context.getConf().get("spark.plugins", ""):
        return False
    return _is_loadable(PLUGIN)


def launched_with() -> dict[str, str]:
    """Returns the settings with which the running JVM was launched."""
    _connect()
    return dict(SparkConf().getAll())


def verify(spark: SparkSession) -> None:
    """Makes sure that the engine works in a session.

    Raises:
        EngineMismatchError: The JVM runs another Spark than the engine was built for.
        ForeignConnectorError: ``format("kafka")`` means another connector.
        EngineInactiveError: Spark did not load the extension.
    """
    if spark.version != pyspark.__version__:
        raise EngineMismatchError(built_for=pyspark.__version__, running=spark.version)
    session_state: Any = spark._jsparkSession.sessionState()  # noqa: SLF001
    data_source: Any = _jvm_class("org.apache.spark.sql.execution.datasources.DataSource")
    provider = data_source.lookupDataSource("kafka", session_state.conf())
    if provider.getName() != KAFKA_PROVIDER:
        raise ForeignConnectorError(provider.getProtectionDomain().getCodeSource().getLocation().getPath())
    # Spark only logs a warning when it cannot load an extension. Ours shows in the session by the rules it brings.
    if not any(EXTENSION in str(rule) for rule in _items(session_state.columnarRules())):
        raise EngineInactiveError(EXTENSION)


def rehearse(writer: DataStreamWriter, table: str | None = None) -> Any:  # noqa: ANN401 parsed by headrace.advise
    """Returns what would become of a query in real-time mode, as the engine's guard sees it; starts nothing.

    Raises:
        JvmAlreadyRunningError: The session is one without the engine.
    """
    if not has_engine():
        raise JvmAlreadyRunningError
    rehearsal: Any = _jvm_class("headrace.guard.Rehearsal")
    return json.loads(rehearsal.of(writer._jwrite, table))  # noqa: SLF001 the JVM's side of it


def stop_reading(run: str) -> None:
    """Lets a run of a query read no further record; one in real-time mode ends its epoch and then rests."""
    _jvm_class("headrace.EpochSignal").drain(run)


def is_resting(run: str) -> bool:
    """Says whether a run of a real-time query that was told to stop reading has committed all that it had read."""
    return bool(_jvm_class("headrace.EpochSignal").isResting(run))


def active_queries() -> list[StreamingQuery]:
    """Returns the queries of all sessions of this process. Works in any thread: an active session is a thread's."""
    is_there = is_application_running() and jvm_exit_code() is None
    session = SparkSession._instantiatedSession if is_there else None  # noqa: SLF001
    if session is None:
        return []
    # What sessions share: the streams of one do not know the queries of another.
    shared: Any = session._jsparkSession.sharedState()  # noqa: SLF001
    executions = _jvm_class("java.util.Collections").list(shared.activeStreamingQueries().elements())
    wrap = _jvm_class("org.apache.spark.sql.execution.streaming.runtime.StreamingQueryWrapper")
    return [StreamingQuery(wrap(execution)) for execution in executions]


def is_real_time(query: StreamingQuery) -> bool:
    """Says whether a query runs in real-time mode."""
    return trigger_of(query) == "RealTimeTrigger"


def trigger_of(query: StreamingQuery) -> str:
    """Returns Spark's name for the kind of a query's trigger."""
    execution: Any = query._jsq.streamingQuery()  # noqa: SLF001 the only way to its trigger
    return kind_of(execution.trigger())


def kind_of(trigger: Any) -> str:  # noqa: ANN401 py4j has no types
    """Returns Spark's name for the kind of a trigger."""
    # A trigger that is an object of Scala's has a dollar at the end.
    return str(trigger.getClass().getSimpleName()).rstrip("$")


def offsets_of(run: str) -> tuple[str | None, str]:
    """Returns where a run of a real-time query began, ``None`` before it has, and the newest ends of what it reads."""
    offsets = _jvm_class("headrace.kafka.FirstOffsets")
    return offsets.of(run), offsets.ends(run)


def observed() -> str:
    """Returns what the engine has measured of the queries of this application, as the JSON of its board."""
    return str(_jvm_class("headrace.observe.Board").snapshot())


def jvm_pid() -> int:
    """Returns the process of the JVM."""
    return int(_jvm_class("java.lang.ProcessHandle").current().pid())


def jvm_exit_code() -> int | None:
    """Returns with what the JVM that this process started has ended; ``None`` while it runs, or if it is not ours."""
    process: subprocess.Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001
    return None if process is None else process.poll()


def stop_jvm() -> None:
    """Ends the JVM that this process started and waits until it is gone; does nothing when there is none."""
    gateway: Any = SparkContext._gateway  # noqa: SLF001
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if process is None or process.stdin is None:
        return
    # PySpark's server for accumulators would complain about the JVM that hung up; a context in the making has none.
    accumulators: Any = getattr(SparkContext._active_spark_context, "_accumulatorServer", None)  # noqa: SLF001
    if accumulators is not None:
        accumulators.shutdown()
    # The end of its input is the sign for PySpark's JVM to leave; it stops the application on its way out.
    process.stdin.close()
    try:
        process.wait(_JVM_EXIT_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        # A second Ctrl-C means: now.
        process.kill()
        process.wait()


def _connect() -> Any:  # noqa: ANN401 py4j has no types
    SparkContext._ensure_initialized()  # noqa: SLF001
    return SparkContext._jvm  # noqa: SLF001


def _jvm_class(name: str) -> Any:  # noqa: ANN401 py4j has no types
    return getattr(_connect(), name)


def _items(sequence: Any) -> list[Any]:  # noqa: ANN401 py4j has no types
    return [sequence.apply(index) for index in range(sequence.size())]


def _is_loadable(name: str) -> bool:
    # Utils looks where Spark looks for plugins and extensions: in the loader that holds spark.jars.
    return bool(_jvm_class("org.apache.spark.util.Utils").classIsLoadable(name))
