# SPDX-License-Identifier: Apache-2.0
"""Which topics and partitions a reader reads."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import IllegalArgumentException

from headrace.local import Record
from tests.integration.kafka.streams import STREAMING, Mode, parameters

if TYPE_CHECKING:
    from tests.integration.kafka.streams import Streams

ALL_MODES = pytest.mark.parametrize("mode", list(Mode), ids=lambda mode: mode.value)


@ALL_MODES
def test_listed_topics_are_read(streams: Streams, mode: Mode):
    """All partitions of every topic in a comma-separated list are read, and no other."""
    kafka = streams.kafka
    first, second, other = kafka.topic(), kafka.topic(), kafka.topic()
    for topic in (first, second, other):
        kafka.produce(topic, [Record(value=f"{topic} {n}".encode(), partition=n) for n in range(2)])
    expected = {f"{topic} {n}".encode() for topic in (first, second) for n in range(2)}
    assert set(streams.values(mode, 4, subscribe=f" {first} , {second},")) == expected


@ALL_MODES
def test_matching_topics_are_read(streams: Streams, mode: Mode):
    """Topics are read whose name contains a match of the pattern; as with Spark, it need not be the whole name."""
    kafka = streams.kafka
    mark = uuid.uuid4().hex
    names = [kafka.topic(f"{place}-{mark}-eu") for place in ("north", "south")]
    kafka.produce(kafka.topic(f"north-{mark}-us"), ["not this one"])
    for name in names:
        kafka.produce(name, [name])
    values = streams.values(mode, 2, subscribePattern=f"(north|south)-{mark}-e[u]")
    assert set(values) == {name.encode() for name in names}


@ALL_MODES
def test_assigned_partitions_are_read(streams: Streams, mode: Mode):
    """Exactly the partitions in the option are read."""
    topic = streams.kafka.topic(partitions=3)
    streams.kafka.produce(topic, [Record(value=f"{n}".encode(), partition=n) for n in range(3)])
    assert set(streams.values(mode, 2, assign=json.dumps({topic: [0, 2]}))) == {b"0", b"2"}


@pytest.mark.parametrize("mode", STREAMING, ids=lambda mode: mode.value)
@pytest.mark.parametrize("strategy", ["subscribe", "assign"])
def test_a_stream_of_a_missing_topic_fails(streams: Streams, mode: Mode, strategy: str):
    """A topic that does not exist is an error that names the topic and the servers, and creates nothing."""
    name = f"missing-{uuid.uuid4().hex}"
    options = {strategy: name if strategy == "subscribe" else json.dumps({name: [0]})}
    query = streams.start(streams.read(mode, **options).select("value"), mode, topic=streams.kafka.topic("out"))
    failure = streams.failure(query)
    assert failure.condition == "KAFKA_TOPIC_NOT_FOUND"
    assert failure.parameters == {"topic": name, "servers": streams.kafka.bootstrap}
    assert name not in streams.kafka.topics.names()


def test_a_batch_read_of_a_missing_topic_fails(streams: Streams):
    """The same for a batch read."""
    with pytest.raises(IllegalArgumentException) as error:
        streams.read(Mode.BATCH, subscribe="no-such-topic").collect()
    assert error.value.getCondition() == "KAFKA_TOPIC_NOT_FOUND"


def test_a_missing_partition_fails(streams: Streams):
    """An assigned partition that the topic does not have is an error that names it."""
    topic = streams.kafka.topic(partitions=2)
    with pytest.raises(IllegalArgumentException) as error:
        streams.read(Mode.BATCH, assign=json.dumps({topic: [0, 2]})).collect()
    assert error.value.getCondition() == "KAFKA_PARTITION_NOT_FOUND"
    assert parameters(error.value) == {"topic": topic, "partition": "2"}


@pytest.mark.parametrize("mode", [Mode.BATCH, Mode.AVAILABLE_NOW], ids=lambda mode: mode.value)
def test_a_pattern_may_match_nothing(streams: Streams, mode: Mode):
    """A pattern that no topic matches reads nothing and is no error."""
    out = streams.kafka.topic("out")
    rows = streams.read(mode, subscribePattern=uuid.uuid4().hex).select("value")
    streams.write(rows, mode, topic=out)
    assert streams.kafka.read(out) == []
