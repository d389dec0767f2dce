# SPDX-License-Identifier: Apache-2.0
"""Records that keep coming while a test does something to the query that reads them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from headrace.local import Record, Writer

if TYPE_CHECKING:
    from headrace.testing import Kafka

AT_ONCE = 20
# Long enough for whoever reads a topic to its end to get there.
PAUSE_S = 0.1


class Load:
    """Writes the numbers from 1 on, two hundred a second, all with one key, inside its ``with`` block."""

    def __init__(self, kafka: Kafka, topic: str) -> None:
        self._writer, self._topic = Writer(kafka.bootstrap), topic
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self.sent = 0

    @property
    def values(self) -> list[bytes]:
        """All that was written."""
        return [str(number).encode() for number in range(1, self.sent + 1)]

    def __enter__(self) -> Self:
        """Begins."""
        self._thread.start()
        return self

    def _write(self) -> None:
        while not self._ended.wait(PAUSE_S):
            for number in range(self.sent, self.sent + AT_ONCE):
                self._writer.write(self._topic, Record(key=b"key", value=str(number + 1).encode()))
            self._writer.flush()
            self.sent += AT_ONCE

    def __exit__(self, *_: object) -> None:
        """Ends, with the last record written."""
        self._ended.set()
        self._thread.join()
