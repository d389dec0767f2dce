# SPDX-License-Identifier: Apache-2.0
"""Reads the scores from Kafka and notes when each arrived, in a process that does nothing else."""

from __future__ import annotations

import contextlib
import gc
import json
import signal
import time
from typing import TYPE_CHECKING, NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

_REPORT_SECONDS = 0.25
_POLL_SECONDS = 0.05


class Receipt(NamedTuple):
    """A score that arrived; a tuple, because thousands of them travel to the parent each second.

    Attributes:
        transaction: The id of the transaction.
        sent_at_us: When it was due to be sent, in microseconds since 1970.
        latency_us: From then until its score was here.
        is_alert: Whether the score is an alert.
    """

    transaction: str
    sent_at_us: int
    latency_us: int
    is_alert: bool


def receive(bootstrap: str, topic: str, partitions: int, parent: Connection) -> None:
    """Sends lists of receipts to its parent, a few each second, until the parent hangs up.

    Args:
        bootstrap: The broker's address.
        topic: Where the scores are.
        partitions: How many partitions the topic has.
        parent: Gets the lists; an empty one says that nothing came.
    """
    # Ctrl-C goes to every process of the terminal; the parent ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "log_level": 2, "group.id": "demo", "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(partitions)])
    gc.freeze()
    # The parent hung up when this is raised.
    with contextlib.suppress(BrokenPipeError):
        _report(consumer, parent)
    consumer.close()


def _report(consumer: Consumer, parent: Connection) -> None:
    receipts: list[Receipt] = []
    next_report = time.monotonic() + _REPORT_SECONDS
    while True:
        message = consumer.poll(_POLL_SECONDS)
        now_us = time.time_ns() // 1_000
        if message is not None:
            error = message.error()
            if error is not None:
                raise KafkaException(error)
            score = json.loads(message.value() or b"{}")
            receipts.append(Receipt(score["id"], score["sent_at"], now_us - score["sent_at"], score["is_alert"]))
        if time.monotonic() >= next_report:
            parent.send(receipts)
            receipts = []
            next_report = time.monotonic() + _REPORT_SECONDS
