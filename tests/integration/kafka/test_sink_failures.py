# SPDX-License-Identifier: Apache-2.0
"""Records that cannot be written. Epochs last five minutes and no second record comes, so nobody waits for either."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.testing import eventually
from tests.integration.kafka.driver import client_ids
from tests.integration.kafka.streams import PATIENCE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tests.integration.kafka.streams import Options, Streams

SHAPES = pytest.mark.parametrize("shuffled", [False, True], ids=["stateless", "shuffled"])


def shaped(rows: DataFrame, *, shuffled: bool) -> DataFrame:
    return rows.select("value").repartition(2) if shuffled else rows.select("value")


@SHAPES
def test_a_record_that_is_too_large_fails_the_query(streams: Streams, *, shuffled: bool):
    """A record that the producer refuses fails the epoch at once; after a restart it is read again."""
    kafka = streams.kafka
    topic, out = kafka.topic(partitions=1), kafka.topic("out")
    kafka.produce(topic, ["x" * 5000])
    rows = shaped(streams.read(subscribe=topic), shuffled=shuffled)
    checkpoint = streams.checkpoint()
    query = streams.start(rows, topic=out, kafka__max__request__size=1000, checkpointLocation=checkpoint)
    failure = streams.failure(query)
    assert failure.condition == "KAFKA_WRITE_FAILED"
    assert failure.parameters["cause"].endswith("RecordTooLargeException")
    assert kafka.read(out) == []
    streams.wait_for(streams.start(rows, topic=out, checkpointLocation=checkpoint), out, 1)


@SHAPES
def test_a_send_that_fails_later_fails_the_query(streams: Streams, *, shuffled: bool):
    """A record that was handed to the producer and is refused by time fails the epoch while the input is idle."""
    kafka = streams.kafka
    topic, out = kafka.topic(partitions=1), kafka.topic("out", partitions=1)
    kafka.produce(topic, ["delivered"])
    rows = shaped(streams.read(subscribe=topic), shuffled=shuffled)
    short: Options = {
        "kafka.delivery.timeout.ms": 1500,
        "kafka.request.timeout.ms": 1000,
        "kafka.max.block.ms": 1500,
    }
    query = streams.start(rows, topic=out, **short)
    streams.wait_for(query, out, 1)
    kafka.topics.delete(out)
    kafka.produce(topic, ["undeliverable"])
    assert streams.failure(query).condition == "KAFKA_WRITE_FAILED"


def test_a_failed_producer_is_not_used_again(streams: Streams):
    """After a failed send the next query gets a producer of its own, and the failed one is closed."""
    kafka, spark = streams.kafka, streams.spark
    topic, out = kafka.topic(partitions=1), kafka.topic("out")
    kafka.produce(topic, ["x" * 5000])
    sink: Options = {"topic": out, "kafka.max.request.size": 1000, "kafka.client.id": topic}
    assert streams.failure(streams.copy(sink, subscribe=topic)).condition == "KAFKA_WRITE_FAILED"
    eventually(lambda: topic not in client_ids(spark, "producer"), PATIENCE)
