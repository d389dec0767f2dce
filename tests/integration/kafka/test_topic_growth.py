# SPDX-License-Identifier: Apache-2.0
"""Partitions and topics that appear while a query runs. Waiting for the end of an epoch, five minutes, would fail."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import pytest

from headrace.local import Record
from headrace.testing import eventually
from tests.integration.kafka.streams import CONTINUING, PATIENCE, Mode, epochs

if TYPE_CHECKING:
    from tests.integration.kafka.streams import Streams

MODES = pytest.mark.parametrize("mode", CONTINUING, ids=lambda mode: mode.value)


@MODES
def test_new_partitions_are_read_from_their_first_record(streams: Streams, mode: Mode):
    """A partition that a topic gains is noticed within seconds; its records and those of the others come out."""
    kafka = streams.kafka
    topic, out = kafka.topic(partitions=1), kafka.topic("out")
    kafka.produce(topic, ["before"])
    query = streams.copy(out, mode, subscribe=topic)
    streams.wait_for(query, out, 1)
    kafka.topics.grow(topic, 3)
    kafka.produce(topic, [Record(value=f"new {n}".encode(), partition=n) for n in range(3)])
    records = streams.wait_for(query, out, 4)
    assert sorted(record.value or b"" for record in records) == [b"before", b"new 0", b"new 1", b"new 2"]


def test_a_new_partition_ends_the_epoch_early(streams: Streams):
    """The epoch in which a partition appears is committed at once, and the next one reads on with no record twice."""
    kafka = streams.kafka
    topic, out = kafka.topic(partitions=1), kafka.topic("out")
    kafka.produce(topic, ["before"])
    query = streams.copy(out, subscribe=topic)
    streams.wait_for(query, out, 1)
    assert epochs(query) == 0
    kafka.topics.grow(topic, 2)
    eventually(lambda: epochs(query) == 1, PATIENCE)
    kafka.produce(topic, [Record(value=b"after", partition=n) for n in range(2)])
    records = streams.wait_for(query, out, 3)
    assert sorted(record.value or b"" for record in records) == [b"after", b"after", b"before"]
    assert epochs(query) == 1


@MODES
def test_new_topics_that_match_are_read(streams: Streams, mode: Mode):
    """A topic that appears and matches the pattern is read from its first record."""
    kafka = streams.kafka
    mark, out = uuid.uuid4().hex, kafka.topic("out")
    kafka.produce(kafka.topic(mark), ["first"])
    query = streams.copy(out, mode, subscribePattern=mark)
    streams.wait_for(query, out, 1)
    kafka.produce(kafka.topic(f"{mark}-second"), ["second"])
    kafka.produce(kafka.topic("other"), ["unwanted"])
    records = streams.wait_for(query, out, 2)
    assert [record.value for record in records] == [b"first", b"second"]


@MODES
def test_the_first_matching_topic_may_come_later(streams: Streams, mode: Mode):
    """A query whose pattern matches nothing waits for the first topic."""
    kafka = streams.kafka
    mark, out = uuid.uuid4().hex, kafka.topic("out")
    query = streams.copy(out, mode, subscribePattern=mark)
    eventually(lambda: query.status["message"] != "Initializing sources", PATIENCE)
    kafka.produce(kafka.topic(mark), ["first"])
    streams.wait_for(query, out, 1)


@MODES
def test_partitions_are_looked_for_as_often_as_asked(streams: Streams, mode: Mode):
    """With a long partition.metadata.cache.ttl.ms new partitions stay unread while the known ones go on."""
    kafka = streams.kafka
    topic, out = kafka.topic(partitions=1), kafka.topic("out", partitions=1)
    kafka.produce(topic, ["known 0"])
    query = streams.copy(out, mode, subscribe=topic, partition__metadata__cache__ttl__ms=600_000)
    streams.wait_for(query, out, 1)
    kafka.topics.grow(topic, 2)
    kafka.produce(topic, [Record(value=b"unknown", partition=1)])
    for n in range(1, 4):
        kafka.produce(topic, [Record(value=f"known {n}".encode(), partition=0)])
        streams.wait_for(query, out, n + 1)
    assert kafka.values(out) == [f"known {n}".encode() for n in range(4)]
    query.stop()
    # A restart looks anew.
    again = streams.copy(out, Mode.AVAILABLE_NOW, subscribe=topic, startingOffsets="earliest")
    assert again.awaitTermination(60)
    assert b"unknown" in kafka.values(out)
