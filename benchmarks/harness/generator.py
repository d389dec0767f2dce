# SPDX-License-Identifier: Apache-2.0
"""An open-loop generator in a process of its own.

The time at which a record should be sent is fixed in advance, and a latency counts from it: a system that stands still
is charged for every record that would have been sent meanwhile (no coordinated omission).
"""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import Producer
from harness.own_process import OwnProcess
from workloads import records

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from workloads.workload import Sent

# At high rates several records share a wake-up, which is what costs; so much lateness is below what we measure.
SHORTEST_SLEEP_S = 0.0005


@dataclass(frozen=True, slots=True)
class Stretch:
    """Records to send to a topic."""

    topic: str
    sent: Sent
    copies: bool


@dataclass(frozen=True, slots=True)
class Lateness:
    """By how many milliseconds the generator itself missed its times."""

    p99: float
    highest: float


class Generator(OwnProcess):
    """Sends stretches of records at fixed times, for the length of a ``with`` block."""

    def __init__(self, bootstrap: str) -> None:
        """Takes the broker's address."""
        super().__init__(_generate, bootstrap)

    def begin(self, stretch: Stretch) -> None:
        """Begins to send; returns at once."""
        self._here.send(stretch)

    def finish(self) -> Lateness:
        """Waits until everything was sent."""
        lateness: Lateness = self._here.recv()
        return lateness


def _generate(orders: Connection, bootstrap: str) -> None:
    settings = {
        "bootstrap.servers": bootstrap,
        "linger.ms": 0,
        "queue.buffering.max.messages": 1_000_000,
        # A broker without a processor for some seconds is taken for dead; what is sent again must keep its order.
        "enable.idempotence": True,
    }
    producer = Producer(settings)
    gc.disable()
    while True:
        try:
            stretch: Stretch = orders.recv()
        except EOFError:  # The harness is gone.
            return
        orders.send(_send(producer, stretch))


def _send(producer: Producer, stretch: Stretch) -> Lateness:
    late: list[float] = []
    sent = stretch.sent
    for number in range(sent.first, sent.first + sent.count):
        due = sent.due_s(number)
        now = time.time()
        if now < due:
            time.sleep(max(due - now, SHORTEST_SLEEP_S))
            now = time.time()
        late.append(now - due)
        told = records.told(number) if stretch.copies else number
        key = b"%d" % records.card(told, sent.load.keys)
        producer.produce(stretch.topic, key=key, value=records.value(told, sent.ts_ms(number), sent.load))
        producer.poll(0)
    producer.flush()
    late.sort()
    return Lateness(late[int(len(late) * 0.99)] * 1000, late[-1] * 1000)
