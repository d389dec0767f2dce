# SPDX-License-Identifier: Apache-2.0
"""Records that are gone before they were read: an error, or with failOnDataLoss=false a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.local import Record
from headrace.testing import eventually
from tests.integration.kafka.streams import CONTINUING, PATIENCE, Mode

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.kafka.streams import Options, Streams

MODES = pytest.mark.parametrize("mode", CONTINUING, ids=lambda mode: mode.value)


def read_some(streams: Streams, mode: Mode, topic: str, out: str) -> str:
    """Reads the first record of a topic in a query of its own; returns the checkpoint."""
    checkpoint = streams.checkpoint()
    query = streams.copy({"topic": out, "checkpointLocation": checkpoint}, mode, subscribe=topic)
    streams.wait_for(query, out, 1)
    if mode is Mode.REAL_TIME:
        # Without the epoch's end the record would be read again.
        streams.kafka.topics.grow(topic, 2)
    eventually(lambda: query.lastProgress, PATIENCE)
    query.stop()
    return checkpoint


@MODES
@pytest.mark.parametrize("fail", [True, False], ids=["fail", "report"])
def test_records_lost_to_retention(streams: Streams, engine_log: Path, mode: Mode, *, fail: bool):
    """Records that retention deleted before a query came to them fail it, or are reported and skipped."""
    kafka = streams.kafka
    topic, out = kafka.topic(partitions=1), kafka.topic("out", partitions=1)
    kafka.produce(topic, ["0"])
    checkpoint = read_some(streams, mode, topic, out)
    kafka.produce(topic, [Record(value=f"{n}".encode(), partition=0) for n in range(1, 10)])
    kafka.topics.truncate(topic, {0: 6})
    query = streams.copy({"topic": out, "checkpointLocation": checkpoint}, mode, subscribe=topic, failOnDataLoss=fail)
    if fail:
        failure = streams.failure(query)
        assert failure.condition == "KAFKA_DATA_LOSS"
        assert f"{topic}-0" in failure.text
        assert kafka.values(out) == [b"0"]
    else:
        records = streams.wait_for(query, out, 5)
        assert [record.value for record in records] == [b"0", b"6", b"7", b"8", b"9"]
        assert f"{topic}-0 no longer holds offset 1" in engine_log.read_text()


@MODES
@pytest.mark.parametrize("fail", [True, False], ids=["fail", "report"])
def test_deleted_topics(streams: Streams, engine_log: Path, mode: Mode, *, fail: bool):
    """A topic that is deleted under a query fails it, or is reported, and the other topics go on."""
    kafka = streams.kafka
    topic, doomed, out = kafka.topic(partitions=1), kafka.topic(partitions=1), kafka.topic("out")
    kafka.produce(topic, ["kept"])
    kafka.produce(doomed, ["doomed"])
    query = streams.copy(out, mode, subscribe=f"{topic},{doomed}", failOnDataLoss=fail)
    streams.wait_for(query, out, 2)
    kafka.topics.delete(doomed)
    if fail:
        failure = streams.failure(query)
        assert failure.condition == "KAFKA_DATA_LOSS"
        assert f"{doomed}-0" in failure.text
    else:
        eventually(lambda: f"{doomed}-0 are gone" in engine_log.read_text(), PATIENCE)
        kafka.produce(topic, ["after"])
        records = streams.wait_for(query, out, 3)
        assert sorted(record.value or b"" for record in records) == [b"after", b"doomed", b"kept"]


@MODES
@pytest.mark.parametrize("fail", [True, False], ids=["fail", "report"])
def test_the_only_topic_is_deleted(streams: Streams, engine_log: Path, mode: Mode, *, fail: bool):
    """With its last topic a query does not fall silent: it fails, or reports it and waits for the topic's return."""
    kafka = streams.kafka
    topic, out = kafka.topic(partitions=1), kafka.topic("out")
    kafka.produce(topic, ["old"])
    query = streams.copy(out, mode, subscribe=topic, failOnDataLoss=fail)
    streams.wait_for(query, out, 1)
    kafka.topics.delete(topic)
    if fail:
        assert streams.failure(query).condition == "KAFKA_DATA_LOSS"
    else:
        eventually(lambda: f"{topic}-0 are gone" in engine_log.read_text(), PATIENCE)
        kafka.topics.create(topic, partitions=1)
        kafka.produce(topic, ["new"])
        assert {record.value for record in streams.wait_for(query, out, 2)} == {b"old", b"new"}


@pytest.mark.parametrize("fail", [True, False], ids=["fail", "report"])
def test_topics_created_anew(streams: Streams, engine_log: Path, *, fail: bool):
    """A topic that was replaced by another of its name is noticed by its identity, though its offsets look right.

    With failOnDataLoss=false the new one is read from its first record.
    """
    kafka = streams.kafka
    topic, out = kafka.topic(partitions=1), kafka.topic("out")
    kafka.produce(topic, ["old", "old"])
    query = streams.copy(out, subscribe=topic, failOnDataLoss=fail)
    streams.wait_for(query, out, 2)
    kafka.topics.delete(topic)
    kafka.topics.create(topic, partitions=1)
    # More than there were: a query that goes on where it was would find a record there.
    kafka.produce(topic, ["new 0", "new 1", "new 2"])
    if fail:
        assert streams.failure(query).condition == "KAFKA_DATA_LOSS"
    else:
        records = streams.wait_for(query, out, lambda seen: {b"new 0", b"new 1", b"new 2"} <= {r.value for r in seen})
        assert b"old" in {record.value for record in records}
        eventually(lambda: "created anew" in engine_log.read_text(), PATIENCE)


@pytest.mark.parametrize("fail", [True, False], ids=["fail", "report"])
def test_a_shorter_topic_of_the_same_name(streams: Streams, engine_log: Path, *, fail: bool):
    """A micro-batch query that finds its topic shorter than it was fails, or reports it."""
    kafka = streams.kafka
    topic, out = kafka.topic(partitions=1), kafka.topic("out")
    kafka.produce(topic, ["old"] * 5)
    sink = {"checkpointLocation": streams.checkpoint()}
    streams.copy({"topic": out, **sink}, Mode.AVAILABLE_NOW, subscribe=topic).awaitTermination(60)
    kafka.topics.delete(topic)
    kafka.topics.create(topic, partitions=1)
    kafka.produce(topic, ["new"])
    query = streams.copy({"topic": out, **sink}, Mode.AVAILABLE_NOW, subscribe=topic, failOnDataLoss=fail)
    if fail:
        failure = streams.failure(query)
        assert failure.condition == "KAFKA_DATA_LOSS"
        assert "created anew" in failure.text
    else:
        query.awaitTermination(60)
        assert f"{topic}-0 ends at offset 1" in engine_log.read_text()


@pytest.mark.parametrize("fail", [True, False], ids=["fail", "report"])
def test_a_batch_from_before_the_beginning(streams: Streams, engine_log: Path, *, fail: bool):
    """A batch read from an offset that retention has deleted fails, or reports it and begins with what is there."""
    topic = streams.kafka.topic(partitions=1)
    streams.kafka.produce(topic, ["0", "1", "2"])
    streams.kafka.topics.truncate(topic, {0: 2})
    options: Options = {"subscribe": topic, "failOnDataLoss": fail, "startingOffsets": f'{{"{topic}":{{"0":0}}}}'}
    rows = streams.read(Mode.BATCH, **options)
    if fail:
        with pytest.raises(Exception, match=r"\[KAFKA_DATA_LOSS\]"):
            rows.collect()
    else:
        assert [row.offset for row in rows.collect()] == [2]
        assert f"{topic}-0 no longer holds offset 0" in engine_log.read_text()


@pytest.mark.parametrize("fail", [True, False], ids=["fail", "report"])
def test_reading_beyond_the_end_is_an_error_in_time(streams: Streams, engine_log: Path, *, fail: bool):
    """A batch read up to an offset that is not there fails after kafkaConsumer.pollTimeoutMs, or ends with a report."""
    topic = streams.kafka.topic(partitions=1)
    streams.kafka.produce(topic, ["0", "1"])
    options: Options = {"subscribe": topic, "failOnDataLoss": fail, "kafkaConsumer.pollTimeoutMs": 500}
    rows = streams.read(Mode.BATCH, endingOffsets=f'{{"{topic}":{{"0":5}}}}', **options)
    if fail:
        with pytest.raises(Exception, match=r"\[KAFKA_DATA_LOSS\]"):
            rows.collect()
    else:
        assert [row.offset for row in rows.collect()] == [0, 1]
        assert f"{topic}-0 ends at offset 2" in engine_log.read_text()
