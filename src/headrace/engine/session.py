# SPDX-License-Identifier: Apache-2.0
"""Spark sessions with the engine in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from headrace.engine import gateway
from headrace.engine.launch import refuse_connect, with_engine
from headrace.errors import ConnectUnsupportedError, HeadraceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def session(
    app_name: str | None = None, *, master: str | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """Returns a Spark session with the engine in it: a new one, or the one that is already running.

    Args:
        app_name: The application's name in Spark's web page and logs.
        master: Where to run. Without one here, on the command line or in ``spark-defaults.conf``, locally with slots
            to spare.
        conf: Further settings of Spark's.

    Raises:
        SettingConflictError: A setting contradicts what the engine needs.
        JvmAlreadyRunningError: Spark's JVM already runs in this process, without the engine.
        HeadraceError: The engine cannot be attached for another reason; the class says which.

    Example:
        >>> import headrace
        >>> spark = headrace.session("orders", master="local[16]")
        >>> spark.range(3).count()
        3
    """
    options = dict(conf or {})
    if app_name is not None:
        options["spark.app.name"] = app_name
    if master is not None:
        options["spark.master"] = master
    # First, because PySpark's builder itself refuses a master next to SPARK_REMOTE, in other words.
    refuse_connect(options)
    builder = SparkSession.Builder()
    for key, value in options.items():
        builder.config(key, value)
    return configure(builder).getOrCreate()


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Gives the engine to the session that a builder will create.

    Settings are merged when the session is created, so what is set on the builder later counts too.

    Args:
        builder: A builder of PySpark's. It is changed, as by its own methods.

    Returns:
        The same builder.

    Raises:
        ConnectUnsupportedError: It is a builder of Spark Connect's.

    Example:
        >>> import headrace
        >>> from pyspark.sql import SparkSession
        >>> spark = headrace.configure(SparkSession.builder.appName("orders")).getOrCreate()
    """
    if not isinstance(builder, SparkSession.Builder):
        raise ConnectUnsupportedError(type(builder).__module__)
    # The class and not a wrapper: a caller that goes on with its own variable must not lose the engine in silence.
    builder.__class__ = EngineBuilder
    return builder


class EngineBuilder(SparkSession.Builder):
    """PySpark's builder, whose sessions have the engine."""

    def getOrCreate(self) -> SparkSession:  # noqa: N802 PySpark's name
        """Gets the running session, or creates one with the engine."""
        return self._with_engine(super().getOrCreate)

    def create(self) -> SparkSession:
        """Creates a further session with the engine."""
        return self._with_engine(super().create)

    def _with_engine(self, start: Callable[[], SparkSession]) -> SparkSession:
        with self._lock, with_engine(self._options) as merged:
            is_first = not gateway.is_application_running()
            given, self._options = self._options, merged
            try:
                spark = start()
            finally:
                self._options = given
        try:
            gateway.verify(spark)
        except HeadraceError:
            if is_first:
                spark.stop()
            raise
        return spark
