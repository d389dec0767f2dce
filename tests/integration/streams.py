# SPDX-License-Identifier: Apache-2.0
"""Steps that many tests of queries have in common."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from headrace.testing import eventually

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

    from headrace.testing import Kafka

# For work that is short on an idle machine, and may share this one with a whole test suite.
PATIENCE = timedelta(seconds=60)

LONG = "5 minutes"
"""An epoch that does not end during a test."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What a test of a query needs: a Spark, a broker, and a place for the query's checkpoint."""

    spark: SparkSession
    kafka: Kafka
    checkpoint: str

    def read(self, topic: str, **options: str) -> DataFrame:
        """Reads a topic as a stream, from its first record."""
        stream = self.spark.readStream.format("kafka").option("kafka.bootstrap.servers", self.kafka.bootstrap)
        return stream.options(subscribe=topic, **{"startingOffsets": "earliest", **options}).load()

    def write(self, rows: DataFrame, topic: str, mode: str | None = "update") -> DataStreamWriter:
        """Prepares a query that writes rows to a topic; its trigger is open."""
        writer = rows.writeStream.format("kafka").option("kafka.bootstrap.servers", self.kafka.bootstrap)
        writer = writer.options(topic=topic, checkpointLocation=self.checkpoint)
        return writer if mode is None else writer.outputMode(mode)


def run_micro_batches(writer: DataStreamWriter) -> StreamingQuery:
    """Runs a query in micro-batch mode over everything that is there now."""
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(int(PATIENCE.total_seconds())), "the micro-batch query did not end"
    assert query.exception() is None, query.exception()
    return query


def start_real_time(writer: DataStreamWriter, epoch: str = LONG) -> StreamingQuery:
    """Starts a query in real-time mode."""
    query: StreamingQuery = writer.trigger(realTime=epoch).start()  # type: ignore[call-overload] # PySpark's types lack it
    return query


def await_epochs(query: StreamingQuery, count: int) -> int:
    """Waits until a query has committed so many epochs more; returns the number of the last."""

    def last() -> int:
        assert query.exception() is None, query.exception()
        progress = query.lastProgress
        return -1 if progress is None else progress.batchId

    target = last() + count
    eventually(lambda: last() >= target, PATIENCE)
    return last()


def failure_of(query: StreamingQuery) -> tuple[str, str]:
    """Waits for a query to fail; returns the condition and the message of what lies at the bottom of it."""
    eventually(lambda: query.exception() is not None, PATIENCE)
    cause: Any = query._jsq.exception().get()
    while cause.getCause() is not None:
        cause = cause.getCause()
    # Spark's own errors have a condition too; others, such as an interrupt, have none to ask for.
    is_spark_throwable = "getCondition" in {method.getName() for method in cause.getClass().getMethods()}
    return cause.getCondition() if is_spark_throwable else cause.getClass().getName(), cause.getMessage()
