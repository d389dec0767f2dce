# SPDX-License-Identifier: Apache-2.0
"""Queries that cannot run in real-time mode, each with the condition of its refusal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming import DataStreamWriter


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """One way to ask for what real-time mode does not do.

    Attributes:
        name: What the user wrote.
        condition: What the error is called.
        build: Makes the rows out of two streams.
        finish: Replaces the sink or the output mode, which otherwise are Kafka and update.
    """

    name: str
    condition: str
    build: Callable[[DataFrame, DataFrame], DataFrame] = lambda first, _: first
    finish: Callable[[DataStreamWriter], DataStreamWriter] = lambda writer: writer


def counts(rows: DataFrame) -> DataFrame:
    """The smallest aggregation."""
    return rows.groupBy("key").count().selectExpr("key", "cast(count as string) value")


def from_jvm(name: str) -> Callable[[DataFrame, DataFrame], DataFrame]:
    """What needs pandas, or the JVM, to be written."""

    def build(first: DataFrame, _: DataFrame) -> DataFrame:
        session: Any = first.sparkSession
        plans = session._jvm.org.apache.spark.sql.headrace.Plans
        return DataFrame(getattr(plans, name)(first.select("key", "value")._jdf), session)

    return build


def other_source(form: str, **options: str) -> Callable[[DataFrame, DataFrame], DataFrame]:
    """A stream that is not Kafka's."""

    def build(first: DataFrame, _: DataFrame) -> DataFrame:
        return first.sparkSession.readStream.format(form).options(**options).load().selectExpr("'x' value")

    return build


def table_function(first: DataFrame, _: DataFrame) -> DataFrame:
    """A Python table function, applied to each row."""

    class Twice:
        def eval(self, value: str) -> Any:  # noqa: ANN401 Spark looks at the declared type instead
            yield (value,)

    first.sparkSession.udtf.register("twice", F.udtf(Twice, returnType="value string", useArrow=False))  # type: ignore[arg-type]
    first.createOrReplaceTempView("lines")
    return first.sparkSession.sql("select t.value from lines, lateral twice(cast(lines.value as string)) t")


def names(first: DataFrame) -> DataFrame:
    """A small table beside the stream."""
    return first.sparkSession.createDataFrame([(b"a", "Anna")], "key binary, name string")


IN_START = (
    Refusal(
        name="foreachBatch",
        condition="FOREACH_BATCH",
        finish=lambda writer: writer.foreachBatch(lambda _rows, _epoch: None),
    ),
    Refusal(
        name="memory sink", condition="SINK_MEMORY", finish=lambda writer: writer.format("memory").queryName("refused")
    ),
    Refusal(
        name="file sink",
        condition="SINK_FILE",
        # In update mode Spark itself refuses files, also in micro-batch mode.
        finish=lambda writer: writer.format("parquet").option("path", "build/none").outputMode("append"),
    ),
    Refusal(
        name="somebody's sink",
        condition="SINK_UNKNOWN",
        finish=lambda writer: writer.format("headrace.probe.UnknownSink"),
    ),
    Refusal(
        name="complete mode",
        condition="OUTPUT_MODE",
        build=lambda first, _: counts(first),
        finish=lambda writer: writer.outputMode("complete"),
    ),
    Refusal(
        name="append mode on an aggregation",
        condition="OUTPUT_MODE",
        build=lambda first, _: counts(first),
        finish=lambda writer: writer.outputMode("append"),
    ),
    Refusal(
        name="append mode on a windowed aggregation",
        condition="OUTPUT_MODE",
        build=lambda first, _: (
            first.withWatermark("timestamp", "1 second")
            .groupBy(F.window("timestamp", "1 second"))
            .count()
            .selectExpr("cast(count as string) value")
        ),
        finish=lambda writer: writer.outputMode("append"),
    ),
    Refusal(name="orderBy", condition="ORDER_BY", build=lambda first, _: first.orderBy("key")),
    Refusal(
        name="sortWithinPartitions", condition="ORDER_BY", build=lambda first, _: first.sortWithinPartitions("key")
    ),
    Refusal(name="limit", condition="LIMIT", build=lambda first, _: first.limit(3)),
    Refusal(
        name="repartitionByRange",
        condition="RANGE_PARTITIONING",
        build=lambda first, _: first.repartitionByRange(2, "key"),
    ),
    Refusal(
        name="stream-stream join",
        condition="STREAM_STREAM_JOIN",
        build=lambda first, second: first.select("key", "value").join(second.select("key"), "key"),
    ),
    Refusal(
        name="dropDuplicatesWithinWatermark",
        condition="DROP_DUPLICATES_WITHIN_WATERMARK",
        build=lambda first, _: first.withWatermark("timestamp", "1 second").dropDuplicatesWithinWatermark(["key"]),
    ),
    Refusal(
        name="session window",
        condition="SESSION_WINDOW",
        build=lambda first, _: (
            first.withWatermark("timestamp", "1 second")
            .groupBy(F.session_window("timestamp", "1 second"), "key")
            .count()
            .selectExpr("key", "cast(count as string) value")
        ),
    ),
    Refusal(
        name="aggregation below a union",
        condition="STATEFUL_BELOW_UNION",
        build=lambda first, second: counts(first).union(second.selectExpr("key", "cast(value as string) value")),
    ),
    Refusal(
        name="dropDuplicates below a union",
        condition="STATEFUL_BELOW_UNION",
        build=lambda first, second: first.dropDuplicates(["key"]).union(second),
    ),
    Refusal(
        name="repartition below a union",
        condition="SHUFFLE_BELOW_UNION",
        build=lambda first, second: first.union(second.repartition(2, "key")),
    ),
    Refusal(name="Python table function", condition="PYTHON_FUNCTION", build=table_function),
    Refusal(name="mapInPandas in barrier mode", condition="PYTHON_FUNCTION", build=from_jvm("mapInPandas")),
    Refusal(name="mapInArrow in barrier mode", condition="PYTHON_FUNCTION", build=from_jvm("mapInArrow")),
    Refusal(name="applyInPandasWithState", condition="PYTHON_STATE", build=from_jvm("applyInPandasWithState")),
    Refusal(
        name="flatMapGroupsWithState",
        condition="FLAT_MAP_GROUPS_WITH_STATE",
        build=from_jvm("flatMapGroupsWithState"),
    ),
    Refusal(name="rate source", condition="SOURCE_UNSUPPORTED", build=other_source("rate")),
    Refusal(
        name="rate-micro-batch source",
        condition="SOURCE_UNSUPPORTED",
        build=other_source("rate-micro-batch", rowsPerBatch="1"),
    ),
    Refusal(name="file source", condition="SOURCE_UNSUPPORTED", build=other_source("text", path=".")),
)
"""Spark's logical plan shows these, so `start()` itself raises."""

BEFORE_THE_FIRST_TASK = (
    Refusal(
        name="static join with a merge hint",
        condition="STATIC_JOIN_NOT_BROADCAST",
        build=lambda first, _: first.select("key", "value").join(names(first).hint("merge"), "key"),
    ),
    Refusal(
        name="static join with a shuffle_hash hint",
        condition="STATIC_JOIN_NOT_BROADCAST",
        build=lambda first, _: first.select("key", "value").join(names(first).hint("shuffle_hash"), "key"),
    ),
    Refusal(
        name="cross join",
        condition="STATIC_JOIN_NOT_BROADCAST",
        build=lambda first, _: first.select("value").crossJoin(names(first).select("name")),
    ),
    Refusal(
        name="rebalance below a union",
        condition="SHUFFLE_BELOW_UNION",
        build=lambda first, second: first.union(second.hint("rebalance", "key")),
    ),
    Refusal(name="coalesce", condition="OPERATOR_UNKNOWN", build=lambda first, _: first.coalesce(1)),
)
"""Only the physical plan shows these: the query starts, and fails before it reads a record."""
