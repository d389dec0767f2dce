# SPDX-License-Identifier: Apache-2.0
"""A consumer in a process of its own that listens in on a query: what goes in, what comes out, and when."""

from __future__ import annotations

import contextlib
import gc
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from confluent_kafka import OFFSET_BEGINNING, TIMESTAMP_CREATE_TIME, Consumer, TopicPartition
from harness.own_process import OwnProcess

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection

    from confluent_kafka import Message

Offsets: TypeAlias = dict[str, dict[int, int]]
"""By topic and partition."""
POLL_S = 0.05
BATCH = 1000


@dataclass(slots=True)
class Catch:
    """What a tap has heard.

    Attributes:
        inputs: When each was created, in seconds since 1970, and its key; without a key it is of no use.
        outputs: When each was received, and its key.
        keyless_inputs: How many had no key.
        keyless_outputs: Likewise.
        stamped_by_broker: How many inputs carry the broker's time and not that of their creation.
        last_input_s: When the last input was received.
    """

    inputs: list[tuple[float, bytes]] = field(default_factory=list)
    outputs: list[tuple[float, bytes]] = field(default_factory=list)
    keyless_inputs: int = 0
    keyless_outputs: int = 0
    stamped_by_broker: int = 0
    last_input_s: float = 0.0

    def add(self, other: Catch) -> None:
        """Adds what was heard later."""
        self.inputs += other.inputs
        self.outputs += other.outputs
        self.keyless_inputs += other.keyless_inputs
        self.keyless_outputs += other.keyless_outputs
        self.stamped_by_broker += other.stamped_by_broker
        self.last_input_s = max(self.last_input_s, other.last_input_s)

    @property
    def input_count(self) -> int:
        """How many inputs there were, with a key or without."""
        return len(self.inputs) + self.keyless_inputs

    @property
    def output_count(self) -> int:
        """How many outputs there were, with a key or without."""
        return len(self.outputs) + self.keyless_outputs

    def take_input(self, now_s: float, message: Message) -> None:
        """Notes an input."""
        kind, created_ms = message.timestamp()
        key = message.key()
        self.last_input_s = now_s
        self.stamped_by_broker += kind != TIMESTAMP_CREATE_TIME
        if key is None:
            self.keyless_inputs += 1
        else:
            self.inputs.append((created_ms / 1000, _bytes(key)))

    def take_output(self, now_s: float, message: Message) -> None:
        """Notes an output."""
        key = message.key()
        if key is None:
            self.keyless_outputs += 1
        else:
            self.outputs.append((now_s, _bytes(key)))


class Tap(OwnProcess):
    """Listens to the topics of one query, for the length of a ``with`` block; joins no consumer group."""

    def __init__(self, client: Mapping[str, str], sources: Offsets, sink: str, partitions: int) -> None:
        """Takes the client's settings, where the query begins to read, and its output topic, which is new."""
        settings = {
            **client,
            "group.id": "headrace-bench",  # Demanded by the client; nothing is committed to it.
            "enable.auto.commit": False,
            # Where nothing is transactional it makes no difference.
            "isolation.level": "read_committed",
        }
        places = [(topic, number, offset) for topic, each in sources.items() for number, offset in each.items()]
        places += [(sink, number, OFFSET_BEGINNING) for number in range(partitions)]
        super().__init__(_listen, settings, places, sink)
        self.heard = Catch()

    def take(self) -> None:
        """Adds what was heard since the last call to what was heard before."""
        self._here.send("take")
        caught: Catch = self._here.recv()
        self.heard.add(caught)


def _listen(orders: Connection, settings: dict[str, object], places: list[tuple[str, int, int]], sink: str) -> None:
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(*place) for place in places])
    gc.disable()
    caught = Catch()
    # The comparison may be gone before this process is ended.
    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            first = consumer.poll(POLL_S)
            if first is not None:
                now = time.time()
                # Whatever else is there was there by now; asking for it one by one would cost more than it.
                for message in (first, *consumer.consume(BATCH, 0)):
                    if message.error() is not None:
                        continue
                    if message.topic() == sink:
                        caught.take_output(now, message)
                    else:
                        caught.take_input(now, message)
            if orders.poll():
                orders.recv()
                orders.send(caught)
                caught = Catch()


def _bytes(key: str | bytes) -> bytes:
    return key.encode() if isinstance(key, str) else key
