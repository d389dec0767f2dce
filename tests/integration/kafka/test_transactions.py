# SPDX-License-Identifier: Apache-2.0
"""Input that was written in transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.testing import eventually
from tests.integration.kafka.streams import PATIENCE, Mode, lag

if TYPE_CHECKING:
    from tests.integration.kafka.streams import Options, Streams

ALL_MODES = pytest.mark.parametrize("mode", list(Mode), ids=lambda mode: mode.value)


@ALL_MODES
def test_aborted_records_are_invisible(streams: Streams, mode: Mode):
    """With read_committed only records of committed transactions are read, in their order.

    The topic ends with the mark of an aborted transaction, so a reader that waited for a record at the last offset
    would hang.
    """
    topic = streams.kafka.topic(partitions=1)
    streams.kafka.produce_transaction(topic, ["first"])
    streams.kafka.produce_transaction(topic, ["aborted"] * 3, commit=False)
    streams.kafka.produce_transaction(topic, ["second", "third"])
    streams.kafka.produce_transaction(topic, ["aborted"] * 3, commit=False)
    values = streams.values(mode, 3, subscribe=topic, kafka__isolation__level="read_committed")
    assert values == [b"first", b"second", b"third"]


@ALL_MODES
def test_aborted_records_are_visible_by_default(streams: Streams, mode: Mode):
    """As with Spark, and as Kafka's default is, all records are read unless read_committed is asked for."""
    topic = streams.kafka.topic(partitions=1)
    streams.kafka.produce_transaction(topic, ["kept"])
    streams.kafka.produce_transaction(topic, ["aborted"], commit=False)
    assert streams.values(mode, 2, subscribe=topic) == [b"kept", b"aborted"]


@pytest.mark.parametrize("mode", [Mode.BATCH, Mode.AVAILABLE_NOW], ids=lambda mode: mode.value)
def test_a_topic_of_nothing_but_aborted_records_ends(streams: Streams, mode: Mode):
    """A range of offsets without a single visible record is read to its end."""
    topic = streams.kafka.topic(partitions=1)
    streams.kafka.produce_transaction(topic, ["aborted"] * 5, commit=False)
    assert streams.values(mode, 0, subscribe=topic, kafka__isolation__level="read_committed") == []


def test_a_committed_transaction_comes_out_of_a_running_query(streams: Streams):
    """A real-time query reads a transaction when it is committed, without waiting for the epoch's end."""
    kafka = streams.kafka
    topic, out = kafka.topic(partitions=1), kafka.topic("out", partitions=1)
    kafka.produce_transaction(topic, ["ready"])
    query = streams.copy(out, subscribe=topic, kafka__isolation__level="read_committed")
    streams.wait_for(query, out, 1)
    kafka.produce_transaction(topic, ["aborted"], commit=False)
    kafka.produce_transaction(topic, ["committed"])
    assert [record.value for record in streams.wait_for(query, out, 2)] == [b"ready", b"committed"]


def test_marks_of_transactions_are_no_lag(streams: Streams):
    """An epoch that has read everything is not behind, even if the last offsets hold only marks."""
    topic, out = streams.kafka.topic(partitions=1), streams.kafka.topic("out")
    streams.kafka.produce_transaction(topic, ["a", "b"])
    streams.kafka.produce_transaction(topic, ["c"], commit=False)
    options: Options = {"kafka.isolation.level": "read_committed", "partition.metadata.cache.ttl.ms": 100}
    rows = streams.read(subscribe=topic, **options).select("value")
    query = streams.start(rows, {"realTime": "1 second"}, topic=out)
    eventually(lambda: lag(query) == 0, PATIENCE)
