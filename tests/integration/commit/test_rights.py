# SPDX-License-Identifier: Apache-2.0
"""Progress on a broker where the query's user may not use transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from headrace.local import Broker
from headrace.testing import Kafka
from tests.integration.streams import PATIENCE, Bench, await_epochs, failure_of, start_real_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.integration.probes import LogRecorder

GUARDED = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


@pytest.fixture
def refused(spark: SparkSession, checkpoint: str) -> Iterator[Bench]:
    """A broker that refuses our transactions, and nothing else."""
    with Broker(settings=GUARDED) as broker:
        rule = AclBinding(
            ResourceType.TRANSACTIONAL_ID,
            "headrace-",
            ResourcePatternType.PREFIXED,
            "User:ANONYMOUS",
            "*",
            AclOperation.ALL,
            AclPermissionType.DENY,
        )
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        for done in admin.create_acls([rule]).values():
            done.result()
        yield Bench(spark, Kafka(broker.bootstrap), checkpoint)


def test_at_least_once_does_without_and_says_so_at_every_start(refused: Bench, log: LogRecorder) -> None:
    source, sink = refused.kafka.topic("in", partitions=1), refused.kafka.topic("out", partitions=1)
    for number in (1, 2):
        query = start_real_time(refused.write(refused.read(source).select("value"), sink), "1 second")
        refused.kafka.produce(source, [f"value {number}"])
        refused.kafka.read_until(sink, number, timeout=PATIENCE)
        await_epochs(query, 2)
        query.stop()
        assert log.text().count("may not use the transactional ids") == number
    assert refused.kafka.values(sink) == [b"value 1", b"value 2"]


def test_exactly_once_is_refused(refused: Bench) -> None:
    source, sink = refused.kafka.topic("in", partitions=1), refused.kafka.topic("out", partitions=1)
    writer = refused.write(refused.read(source).select("value"), sink).option("delivery", "exactly-once")
    condition, message = failure_of(start_real_time(writer))
    assert condition == "EXACTLY_ONCE_IMPOSSIBLE"
    assert "may not use the transactional ids" in message
