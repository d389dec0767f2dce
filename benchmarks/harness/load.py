# SPDX-License-Identifier: Apache-2.0
"""An open-loop generator and a receiver, each a process of its own.

The time at which a record should be sent is fixed in advance and travels in the record, so a system that stands still
is charged for every record that would have been sent meanwhile (no coordinated omission).
"""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from confluent_kafka import Consumer, Producer

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

PADDING = b"x" * 75  # With the send time and the sequence number: records of about 100 bytes.


@dataclass(frozen=True, slots=True)
class Window:
    """One stretch of load on one topic."""

    topic: str
    rate: int
    seconds: float
    keys: int


class _Worker:
    """A process at the other end of a pipe, for the length of a ``with`` block."""

    def __init__(self, work: Callable[..., None], *arguments: object) -> None:
        self._here, there = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=work, args=(there, *arguments), daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.join()


class Generator(_Worker):
    """Sends windows of records at fixed times."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(_generate, bootstrap)

    def send(self, window: Window) -> float:
        """Sends a window and returns by how many milliseconds the generator itself was late at most."""
        self._here.send(window)
        return float(self._here.recv())


class Receiver(_Worker):
    """Clocks the receipt of records on several topics."""

    def __init__(self, bootstrap: str, topics: list[str]) -> None:
        super().__init__(_receive, bootstrap, topics)

    def latencies_ms(self) -> dict[str, list[float]]:
        """Returns what was received since the last call, by topic: milliseconds from the intended send time."""
        self._here.send("take")
        taken: dict[str, list[float]] = self._here.recv()
        return taken


def _generate(orders: Connection, bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    while True:
        window: Window = orders.recv()
        keys = [f"key-{number}".encode() for number in range(window.keys)]
        start = time.time() + 0.05
        late = 0.0
        for number in range(int(window.rate * window.seconds)):
            due = start + number / window.rate
            wait = due - time.time()
            if wait > 0:
                time.sleep(wait)
            else:
                late = max(late, -wait)
            producer.produce(window.topic, key=keys[number % window.keys], value=b"%.6f %s" % (due, PADDING))
            producer.poll(0)
        producer.flush()
        orders.send(late * 1000)


def _receive(orders: Connection, bootstrap: str, topics: list[str]) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"receiver-{time.time_ns()}",
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 10,
        }
    )
    consumer.subscribe(topics)
    taken: dict[str, list[float]] = {topic: [] for topic in topics}
    while True:
        message = consumer.poll(0.05)
        if message is not None and message.error() is None:
            now = time.time()
            sent = float((message.value() or b"").split(b" ", 1)[0])
            taken[message.topic() or ""].append((now - sent) * 1000)
        if message is None and orders.poll():
            orders.recv()
            orders.send(taken)
            taken = {topic: [] for topic in topics}
