# SPDX-License-Identifier: Apache-2.0
"""A consumer in a process of its own that clocks the receipt of records; what they say is read later."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, TypeAlias

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from harness.own_process import OwnProcess

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Stamped: TypeAlias = tuple[float, bytes]
"""When a record was received, in seconds since 1970, and its value."""


class Receiver(OwnProcess):
    """Clocks what arrives on several topics, for the length of a ``with`` block."""

    def __init__(self, bootstrap: str, topics: list[str], *, partitions: int, read_committed: bool) -> None:
        """Takes the broker's address and the topics, which exist and have that many partitions."""
        settings = {
            "bootstrap.servers": bootstrap,
            "group.id": "receiver",  # Demanded by the client; nothing is committed to it.
            "enable.auto.commit": False,
            "isolation.level": "read_committed" if read_committed else "read_uncommitted",
        }
        places = [(topic, partition) for topic in topics for partition in range(partitions)]
        super().__init__(_receive, settings, places)

    def take(self) -> dict[str, list[Stamped]]:
        """Returns what was received since the last call, by topic."""
        self._here.send("take")
        taken: dict[str, list[Stamped]] = self._here.recv()
        return taken


def _receive(orders: Connection, settings: dict[str, object], places: list[tuple[str, int]]) -> None:
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for topic, partition in places])
    gc.disable()
    taken: dict[str, list[Stamped]] = {}
    while True:
        first = consumer.poll(0.05)
        if first is not None:
            now = time.time()
            # Whatever else is there was there by now; asking for it one by one would cost more than it.
            for message in (first, *consumer.consume(1000, 0)):
                # A tombstone is no answer: engines that retract write one beside the answer.
                if message.error() is None and (value := message.value()) is not None:
                    taken.setdefault(message.topic() or "", []).append((now, value))
        if orders.poll():
            try:
                orders.recv()
            except EOFError:  # The harness is gone.
                return
            orders.send(taken)
            taken = {}
