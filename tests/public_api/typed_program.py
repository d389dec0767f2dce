# SPDX-License-Identifier: Apache-2.0
"""A user's program, for the type checker: every public name as it is meant to be used, and how it is not.

Each line with an ignore is a mistake that mypy must find; it reports an ignore that has nothing to ignore.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, assert_type

from pyspark.sql import DataFrame, SparkSession

import headrace
from headrace.errors import SettingConflictError
from headrace.local import Broker, Record
from headrace.testing import Kafka, eventually

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


def connect() -> SparkSession:
    try:
        spark = headrace.session("orders", master="local[16]", conf={"spark.ui.enabled": "false"})
    except SettingConflictError as conflict:
        assert_type(conflict.condition, str)
        assert_type(conflict.parameters, dict[str, str])
        raise
    assert_type(spark, SparkSession)
    return spark


def connect_with_a_builder() -> SparkSession:
    builder = headrace.configure(SparkSession.builder.appName("orders"))
    assert_type(builder, SparkSession.Builder)
    return builder.getOrCreate()


def start(orders: DataFrame) -> StreamingQuery:
    writer = orders.writeStream.format("kafka").outputMode("update")
    # PySpark 4.3 takes realTime but leaves it out of its type hints.
    writer.trigger(realTime="5 minutes")  # type: ignore[call-overload]
    checked = headrace.check(writer)
    assert_type(checked.conditions, tuple[str, ...])
    assert_type(checked.slots_needed, int | None)
    return writer.start()


def watch(query: StreamingQuery) -> float | None:
    assert_type(headrace.serve_dashboard(":0"), str)
    found = headrace.latency(query).recent.end_to_end
    return None if found is None else found.p99_ms


def try_out(spark: SparkSession) -> list[Record]:
    with Broker() as broker:
        kafka = Kafka(broker.bootstrap)
        topic = kafka.topic("orders", partitions=2)
        kafka.produce(topic, ["first", Record(key=b"7", value=b"second")])
        orders = spark.readStream.format("kafka").option("subscribe", topic).load()
        query = start(orders)
        assert_type(eventually(lambda: query.isActive, timeout=timedelta(seconds=10)), bool)
        return kafka.read_until(topic, 2)


def catch_all() -> str:
    try:
        connect()
    except headrace.HeadraceError as error:
        return error.condition
    return headrace.__version__


def mistakes(spark: SparkSession) -> None:
    headrace.session(16)  # type: ignore[arg-type]
    headrace.session("orders", "local[16]")  # type: ignore[call-arg]
    headrace.session(conf={"spark.ui.enabled": False})  # type: ignore[dict-item]
    headrace.configure(spark)  # type: ignore[arg-type]
    headrace.check(spark)  # type: ignore[arg-type]
    headrace.latency(spark)  # type: ignore[arg-type]
    headrace.serve_dashboard(8080)  # type: ignore[arg-type]
    Kafka("localhost:9092").produce("orders", [1])  # type: ignore[list-item]
    Broker(port="9092")  # type: ignore[arg-type]
