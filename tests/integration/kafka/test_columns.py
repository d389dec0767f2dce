# SPDX-License-Identifier: Apache-2.0
"""What a record looks like as a row, and that every kind of record survives the way through a query."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 PySpark's custom
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headrace.local import Record
from tests.integration.kafka.streams import Mode

if TYPE_CHECKING:
    from tests.integration.kafka.streams import Streams

COLUMNS: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
}
HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
MOMENT = datetime(2024, 5, 6, 7, 8, 9, 123000, tzinfo=UTC)
ALL_MODES = pytest.mark.parametrize("mode", list(Mode), ids=lambda mode: mode.value)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("headers", [False, True])
def test_columns_are_those_of_spark(streams: Streams, *, streaming: bool, headers: bool):
    """Names, order, types and nullability are the ones in Spark's guide, with headers only when asked for."""
    topic = streams.kafka.topic()
    mode = Mode.REAL_TIME if streaming else Mode.BATCH
    schema = streams.read(mode, subscribe=topic, includeHeaders=headers).schema
    expected = COLUMNS | ({"headers": HEADERS} if headers else {})
    assert schema == StructType([StructField(name, kind) for name, kind in expected.items()])


@ALL_MODES
def test_every_column_holds_what_the_record_holds(streams: Streams, mode: Mode):
    """Key, value, topic, partition, offset, timestamp and headers reach the query as they were written."""
    kafka = streams.kafka
    topic, out = kafka.topic(partitions=3), kafka.topic("out", partitions=1)
    sent_ms = int(MOMENT.timestamp() * 1000)
    headers = (("trace", b"1"), ("trace", b"2"), ("empty", None))
    kafka.produce(topic, [Record(value=b"skipped", partition=2)])
    kafka.produce(topic, [Record(value=b"v", key=b"k", headers=headers, partition=2, timestamp_ms=sent_ms)])
    rows = streams.read(mode, subscribe=topic, includeHeaders=True).where("offset = 1")
    described = rows.select(
        F.to_json(F.struct("topic", "partition", "offset", "timestampType")).alias("key"),
        F.concat_ws("|", F.unix_millis("timestamp"), "key", "value").alias("value"),
        "headers",
    )
    query = streams.write(described, mode, topic=out)
    (record,) = streams.wait_for(query, out, 1) if query else kafka.read(out)
    assert record.key == f'{{"topic":"{topic}","partition":2,"offset":1,"timestampType":0}}'.encode()
    assert record.value == f"{sent_ms}|k|v".encode()
    assert record.headers == headers


@ALL_MODES
def test_records_without_key_value_or_headers_are_null(streams: Streams, mode: Mode):
    """A tombstone stays a tombstone, a missing key stays missing, and no headers are null, from topic to topic."""
    kafka = streams.kafka
    topic, out = kafka.topic(partitions=1), kafka.topic("out", partitions=1)
    kafka.produce(topic, [Record(value=None, key=b"deleted"), Record(value=b"", key=b""), Record(value=b"no key")])
    rows = streams.read(mode, subscribe=topic, includeHeaders=True)
    rows = rows.where("headers IS NULL AND ((key IS NULL) <> (value IS NULL) OR length(value) = 0)")
    query = streams.write(rows.select("key", "value", "headers"), mode, topic=out)
    records = streams.wait_for(query, out, 3) if query else kafka.read(out)
    assert [(record.key, record.value) for record in records] == [(b"deleted", None), (b"", b""), (None, b"no key")]


@ALL_MODES
def test_large_records_pass(streams: Streams, mode: Mode):
    """Records of a megabyte pass with default settings, and larger ones when topic and sink allow them."""
    kafka = streams.kafka
    topic, out = (kafka.topic(name, partitions=1, config={"max.message.bytes": "4000000"}) for name in ("in", "out"))
    values = [b"a" * 1_000_000, b"b" * 3_000_000, b"small"]
    kafka.produce(topic, values)
    rows = streams.read(mode, subscribe=topic).select("value")
    query = streams.write(rows, mode, topic=out, kafka__max__request__size=4_000_000)
    records = streams.wait_for(query, out, 3) if query else kafka.read(out)
    assert [record.value for record in records] == values


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_topics_are_read_and_written(streams: Streams, codec: str):
    """Records compressed by the broker, and by our producer, are the same records."""
    kafka = streams.kafka
    topic, out = kafka.topic(partitions=1, config={"compression.type": codec}), kafka.topic("out", partitions=1)
    values = [f"{codec} {n}".encode() * 50 for n in range(100)]
    kafka.produce(topic, values)
    query = streams.copy({"topic": out, "kafka__compression__type": codec}, subscribe=topic)
    assert [record.value for record in streams.wait_for(query, out, 100)] == values


@pytest.mark.parametrize("mode", [Mode.BATCH, Mode.REAL_TIME], ids=lambda mode: mode.value)
def test_broker_time_is_marked(streams: Streams, mode: Mode):
    """On a topic that keeps the broker's time, timestampType is 1."""
    topic = streams.kafka.topic(partitions=1, config={"message.timestamp.type": "LogAppendTime"})
    streams.kafka.produce(topic, [Record(value=b"x", timestamp_ms=1)])
    rows = streams.read(mode, subscribe=topic).select((F.col("timestamp") > "2020-01-01").cast("string").alias("key"))
    rows = streams.read(mode, subscribe=topic).where("timestampType = 1 AND timestamp > '2020-01-01'").select("value")
    out = streams.kafka.topic("out")
    query = streams.write(rows, mode, topic=out)
    assert len(streams.wait_for(query, out, 1) if query else streams.kafka.read(out)) == 1
