# SPDX-License-Identifier: Apache-2.0
"""What a query has recorded of its progress, as anybody can see it from outside."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from headrace.testing import eventually

if TYPE_CHECKING:
    from headrace.testing import Kafka

PATIENCE = timedelta(seconds=60)


def offset_recorded(kafka: Kafka, checkpoint: str, topic: str, partition: int = 0) -> int:
    """The offset that a query has recorded for a partition; -1 before it has."""
    notes = sorted(Path(checkpoint, "headrace").glob("[0-9]*"), key=lambda path: int(path.name))
    if not notes:
        return -1
    group = "headrace-" + json.loads(notes[-1].read_text(encoding="utf-8").split("\n", 1)[1])["id"]
    # Not that of a transaction whose writer was killed: it may be open for a while.
    settings = {"bootstrap.servers": kafka.bootstrap, "group.id": group, "isolation.level": "read_uncommitted"}
    consumer = Consumer(settings)

    def asked() -> list[TopicPartition]:
        try:
            return consumer.committed([TopicPartition(topic, partition)], timeout=10)
        except KafkaException as e:
            # A group that is asked for the first time may have no coordinator yet.
            if e.args[0].code() not in (KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS):
                raise
            return []

    try:
        (answer,) = eventually(asked, PATIENCE)
        return int(answer.offset)
    finally:
        consumer.close()
