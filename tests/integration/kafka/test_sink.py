# SPDX-License-Identifier: Apache-2.0
"""What becomes of a row that is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import IllegalArgumentException

from headrace.local import Record
from tests.integration.kafka.streams import Mode, text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.integration.kafka.streams import Streams, Value

MODES = pytest.mark.parametrize("mode", [Mode.BATCH, Mode.MICRO_BATCH, Mode.REAL_TIME], ids=lambda mode: mode.value)


def one_row(streams: Streams, mode: Mode, *columns: str) -> DataFrame:
    """Returns a row of such columns, from a topic if it must be a stream."""
    if mode is Mode.BATCH:
        return streams.spark.range(1).selectExpr(*columns)
    topic = streams.kafka.topic(partitions=1)
    streams.kafka.produce(topic, ["input"])
    return streams.read(mode, subscribe=topic).selectExpr(*columns)


def written(streams: Streams, mode: Mode, rows: DataFrame, to: str, **options: Value) -> list[Record]:
    """Returns what a topic holds when one row was written."""
    query = streams.write(rows, mode, **options)
    return streams.wait_for(query, to, 1) if query else streams.kafka.read(to)


@MODES
def test_the_column_names_the_topic(streams: Streams, mode: Mode):
    """Without the option each row goes to the topic in its column."""
    out = streams.kafka.topic("out")
    rows = one_row(streams, mode, text(out, "topic"), text("v", "value"))
    assert [record.value for record in written(streams, mode, rows, out)] == [b"v"]


@MODES
def test_the_option_wins_over_the_column(streams: Streams, mode: Mode):
    """With the option all rows go to its topic, whatever their column says, also null."""
    out = streams.kafka.topic("out")
    rows = one_row(streams, mode, "CAST(NULL AS STRING) topic", text("v", "value"))
    assert [record.value for record in written(streams, mode, rows, out, topic=out)] == [b"v"]


@MODES
def test_the_column_names_the_partition(streams: Streams, mode: Mode):
    """A row goes to the partition in its column, against the key's hash."""
    out = streams.kafka.topic("out", partitions=5)
    for partition in (4, 1):
        rows = one_row(streams, mode, text("k", "key"), text("v", "value"), f"{partition} partition")
        (record,) = written(streams, mode, rows, out, topic=out)
        assert record.partition == partition
        streams.kafka.topics.truncate(out, {partition: 1})


def test_a_null_partition_is_the_producers_choice(streams: Streams):
    """With null in the column the key decides, as it does without the column and for every other client."""
    kafka = streams.kafka
    out, other = kafka.topic("out", partitions=5), kafka.topic("other", partitions=5)
    keys = [f"key {n}" for n in range(20)]
    kafka.produce(other, [Record(value=b"", key=key.encode()) for key in keys])
    rows = streams.spark.range(20).selectExpr("concat('key ', id) key", "'' value", "CAST(NULL AS INT) partition")
    streams.write(rows, Mode.BATCH, topic=out)
    assert {r.key: r.partition for r in kafka.read(out)} == {r.key: r.partition for r in kafka.read(other)}


@pytest.mark.parametrize("option", ["true", "false", None])
def test_headers_are_written(streams: Streams, option: str | None):
    """A column of headers is written, in order, with or without includeHeaders."""
    out = streams.kafka.topic("out")
    headers = "array(struct('a' key, CAST('1' AS BINARY) value), struct('a' key, CAST(NULL AS BINARY) value)) headers"
    rows = one_row(streams, Mode.REAL_TIME, text("v", "value"), headers)
    options = {} if option is None else {"includeHeaders": option}
    (record,) = written(streams, Mode.REAL_TIME, rows, out, topic=out, **options)
    assert record.headers == (("a", b"1"), ("a", None))


@MODES
@pytest.mark.parametrize("kind", ["STRING", "BINARY"])
def test_keys_and_values_are_text_or_bytes(streams: Streams, mode: Mode, kind: str):
    """Strings are written as UTF-8 and bytes as they are."""
    out = streams.kafka.topic("out")
    rows = one_row(streams, mode, f"CAST('schlüssel' AS {kind}) key", f"CAST('wert ✓' AS {kind}) value")
    (record,) = written(streams, mode, rows, out, topic=out)
    assert (record.key, record.value) == ("schlüssel".encode(), "wert ✓".encode())


@MODES
@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        pytest.param(["'k' key"], "value", id="no-value"),
        pytest.param(["1 value"], "value", id="value-int"),
        pytest.param(["'v' value", "1.5 key"], "key", id="key-decimal"),
        pytest.param(["'v' value", "1L partition"], "partition", id="partition-long"),
        pytest.param(["'v' value", "map('a', 'b') headers"], "headers", id="headers-map"),
        pytest.param(["'v' value", "1 topic"], "topic", id="topic-int"),
    ],
)
def test_rows_of_another_shape_are_refused(streams: Streams, mode: Mode, columns: list[str], fault: str):
    """A missing value or a column of the wrong type is an error in start() or save() that names the column."""
    out = streams.kafka.topic("out")
    with pytest.raises(IllegalArgumentException, match=f"'{fault}'") as error:
        streams.write(one_row(streams, mode, *columns), mode, topic=out)
    assert error.value.getCondition() == "KAFKA_ROW_SHAPE"


@MODES
def test_a_topic_must_be_named(streams: Streams, mode: Mode):
    """Without the option and without the column there is nowhere to write to."""
    with pytest.raises(IllegalArgumentException, match="'topic'") as error:
        streams.write(one_row(streams, mode, "'v' value"), mode)
    assert error.value.getCondition() == "KAFKA_ROW_SHAPE"


@pytest.mark.parametrize("mode", [Mode.MICRO_BATCH, Mode.REAL_TIME], ids=lambda mode: mode.value)
def test_a_null_topic_fails_the_query(streams: Streams, mode: Mode):
    """A row with null in its topic column is an error, not a lost record."""
    rows = one_row(streams, mode, "CAST(NULL AS STRING) topic", "'v' value")
    assert streams.failure(streams.start(rows, mode)).condition == "KAFKA_TOPIC_NULL"


@pytest.mark.parametrize("mode", [None, "append", "errorifexists", "error"])
def test_batches_add_to_a_topic(streams: Streams, mode: str | None):
    """df.write adds records by default and with append; Spark's other name for its default does the same."""
    out = streams.kafka.topic("out", partitions=1)
    streams.kafka.produce(out, ["before"])
    writer = streams.spark.range(3).selectExpr("CAST(id AS STRING) value").coalesce(1).write.format("kafka")
    writer = writer.options(topic=out).option("kafka.bootstrap.servers", streams.kafka.bootstrap)
    (writer if mode is None else writer.mode(mode)).save()
    assert streams.kafka.values(out) == [b"before", b"0", b"1", b"2"]


@pytest.mark.parametrize("mode", ["overwrite", "ignore"])
def test_topics_are_not_overwritten(streams: Streams, mode: str):
    """A save mode that would replace or skip records is refused, and nothing is written."""
    out = streams.kafka.topic("out")
    writer = streams.spark.range(3).selectExpr("CAST(id AS STRING) value").write.format("kafka").mode(mode)
    with pytest.raises(IllegalArgumentException) as error:
        writer.options(topic=out).option("kafka.bootstrap.servers", streams.kafka.bootstrap).save()
    assert error.value.getCondition() == "KAFKA_SAVE_MODE"
    assert streams.kafka.read(out) == []
