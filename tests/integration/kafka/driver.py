# SPDX-License-Identifier: Apache-2.0
"""A look into the JVM of the driver, which in local mode is the executor too."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


def client_ids(spark: SparkSession, kind: str) -> set[str]:
    """Returns the client ids of the Kafka clients that are open in the JVM.

    Args:
        spark: The session.
        kind: ``consumer``, ``producer`` or ``admin-client``.
    """
    domain = "kafka.admin.client" if kind == "admin-client" else f"kafka.{kind}"
    beans = _ask(spark, "queryNames", f"{domain}:type={kind}-metrics,client-id=*", None)
    return {bean.getKeyProperty("client-id") for bean in beans}


def requests(spark: SparkSession, client_id: str) -> float:
    """Returns how many requests an admin client has sent."""
    bean = f"kafka.admin.client:type=admin-client-metrics,client-id={client_id}"
    return float(_ask(spark, "getAttribute", bean, "request-total"))


def _ask(spark: SparkSession, question: str, bean: str, argument: str | None) -> Any:  # noqa: ANN401 Java's answer
    """Calls a method of the JVM's bean server by reflection: its class is hidden from py4j, its interface is not."""
    jvm: Any = spark._jvm
    (method,) = (
        candidate
        for candidate in jvm.java.lang.Class.forName("javax.management.MBeanServerConnection").getMethods()
        if candidate.getName() == question
    )
    arguments = spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 2)  # type: ignore[union-attr]
    arguments[0], arguments[1] = jvm.javax.management.ObjectName(bean), argument
    return method.invoke(jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer(), arguments)


def threads(spark: SparkSession) -> list[str]:
    """Returns the names of the JVM's threads."""
    jvm: Any = spark._jvm
    return sorted(thread.getName() for thread in jvm.java.lang.Thread.getAllStackTraces().keySet())


def sockets(spark: SparkSession) -> int:
    """Returns how many sockets the JVM has open."""
    jvm: Any = spark._jvm
    folder = Path(f"/proc/{jvm.java.lang.ProcessHandle.current().pid()}/fd")
    count = 0
    for link in folder.iterdir():
        # One that was closed since it was listed is not there to be read.
        with contextlib.suppress(FileNotFoundError):
            count += str(link.readlink()).startswith("socket:")
    return count


@contextlib.contextmanager
def logging_to(spark: SparkSession, path: Path, logger_name: str = "headrace") -> Iterator[Path]:
    """Also writes what one logger and those below it log to a file; the one without a name is above all."""
    jvm: Any = spark._jvm
    log4j = jvm.org.apache.logging.log4j
    layout = log4j.core.layout.PatternLayout.newBuilder().withPattern("%p %c %m%n").build()
    builder = log4j.core.appender.FileAppender.newBuilder()
    appender = builder.withFileName(str(path)).setName(str(path)).setLayout(layout).build()
    appender.start()
    logger = log4j.LogManager.getLogger(logger_name)
    logger.addAppender(appender)
    try:
        yield path
    finally:
        logger.removeAppender(appender)
        appender.stop()
        if logger_name:
            # The appender made it a logger with settings of its own, and those would keep what it logs from all others.
            logger.getContext().getConfiguration().removeLogger(logger_name)
            logger.getContext().updateLoggers()
