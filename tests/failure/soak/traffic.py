# SPDX-License-Identifier: Apache-2.0
"""Numbered records into a topic, at a steady rate, and what comes out of another."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING

from headrace.errors import KafkaRequestError
from headrace.local import Reader, Record, Writer

if TYPE_CHECKING:
    from headrace.testing import Kafka


PARTITIONS = 2
"""Of the source."""


class Feeder:
    """Sends the numbers from 0 on, in turn to each partition: number and partition tell the offset.

    Args:
        kafka: Where to.
        topic: The topic.
        rate: Records a second.
    """

    def __init__(self, kafka: Kafka, topic: str, *, rate: int) -> None:
        self._writer, self._topic = Writer(kafka.bootstrap), topic
        self._rate = rate
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.times: list[float] = []
        """When each number was sent."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._writer.flush()

    def _run(self) -> None:
        began = time.monotonic()
        while not self._stopped.is_set():
            number = len(self.times)
            time.sleep(max(0.0, began + number / self._rate - time.monotonic()))
            self.times.append(time.monotonic())
            self._writer.write(self._topic, Record(value=b"%d" % number, partition=number % PARTITIONS))


class Watch:
    """Keeps what comes out of a topic, in order, with the time at which it was seen."""

    def __init__(self, kafka: Kafka, topic: str, *, committed: bool) -> None:
        self._reader = Reader(kafka.bootstrap, topic, committed=committed)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.numbers: list[int] = []
        self.seen: dict[int, float] = {}
        """When each number was seen for the first time."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        self._reader.close()

    def _run(self) -> None:
        while not self._stopped.is_set():
            # The broker may be away; the client goes on when it is back.
            with contextlib.suppress(KafkaRequestError):
                for record in self._reader.poll():
                    number = int(record.value or b"")
                    self.numbers.append(number)
                    self.seen.setdefault(number, time.monotonic())
