# SPDX-License-Identifier: Apache-2.0
"""A broker from a test's point of view: topics of its own, records in, records out."""

from __future__ import annotations

import contextlib
import time
import uuid
from datetime import timedelta
from typing import TYPE_CHECKING

from headrace.local import Reader, Record, Topics, Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_TIMEOUT = timedelta(seconds=30)


class Kafka:
    """What a test does with a broker.

    Example:
        >>> def test_orders(kafka: Kafka) -> None:
        ...     topic = kafka.topic(partitions=2)
        ...     kafka.produce(topic, ["first", "second"])
        ...     assert kafka.values(topic) == [b"first", b"second"]

    Args:
        bootstrap: The broker's address.
        client: Further settings of the confluent-kafka clients, such as those for TLS.
    """

    def __init__(self, bootstrap: str, client: Mapping[str, str] | None = None) -> None:
        self.bootstrap = bootstrap
        self.topics = Topics(bootstrap, client)
        self._client = dict(client or {})

    def topic(self, name: str = "topic", *, partitions: int = 2, config: Mapping[str, str] | None = None) -> str:
        """Makes a topic that no other test knows.

        Args:
            name: How its name begins.
            partitions: How many partitions it has.
            config: Its settings, such as ``compression.type``. Records stay for good unless they say otherwise.

        Returns:
            Its name.
        """
        unique = f"{name}-{uuid.uuid4().hex[:12]}"
        # Retention goes by the time of a record, and test data is often older than the week that Kafka keeps:
        # the broker would delete it some minutes into the tests.
        self.topics.create(unique, partitions=partitions, config={"retention.ms": "-1", **(config or {})})
        return unique

    def produce(self, topic: str, records: Iterable[Record | bytes | str]) -> None:
        """Writes records, in order, and returns once they are durable.

        Args:
            topic: Where to.
            records: Whole records, or only values; text is encoded as UTF-8.
        """
        writer = Writer(self.bootstrap, self._client)
        for record in records:
            writer.write(topic, _as_record(record))
        writer.flush()

    def produce_transaction(self, topic: str, records: Iterable[Record | bytes | str], *, commit: bool = True) -> None:
        """Writes records in one transaction, which is committed or aborted at the end."""
        writer = Writer(self.bootstrap, {**self._client, "transactional.id": uuid.uuid4().hex})
        with writer.transaction(commit=commit):
            for record in records:
                writer.write(topic, _as_record(record))

    def read(self, topic: str, *, committed: bool = False) -> list[Record]:
        """Returns all records that a topic holds now.

        Args:
            topic: Where from.
            committed: Whether to leave out those of open and aborted transactions.

        Returns:
            The records; those of one partition in their order, the partitions in none.
        """
        # A client tells the end when a fetch came back empty: with records coming all the time, that must be soon.
        client = {"fetch.wait.max.ms": "10", **self._client}
        with contextlib.closing(Reader(self.bootstrap, topic, committed=committed, client=client)) as reader:
            records: list[Record] = []
            while not reader.at_end:
                records += reader.poll()
            return records

    def values(self, topic: str, *, committed: bool = False) -> list[bytes | None]:
        """Returns the values of all records that a topic holds now."""
        return [record.value for record in self.read(topic, committed=committed)]

    def read_until(
        self,
        topic: str,
        condition: int | Callable[[list[Record]], bool],
        *,
        committed: bool = False,
        timeout: timedelta = _TIMEOUT,
    ) -> list[Record]:
        """Reads a topic from its beginning until a condition holds.

        Args:
            topic: Where from.
            condition: How many records to wait for, or a function of all those read so far.
            committed: Whether to leave out records of open and aborted transactions.
            timeout: How long to wait.

        Returns:
            All records read, perhaps more than asked for.

        Raises:
            AssertionError: The time is over; the message says what came.
        """
        deadline = time.monotonic() + timeout.total_seconds()
        records: list[Record] = []
        with contextlib.closing(Reader(self.bootstrap, topic, committed=committed, client=self._client)) as reader:
            while not (len(records) >= condition if isinstance(condition, int) else condition(records)):
                if time.monotonic() > deadline:
                    message = (
                        f"not within {timeout.total_seconds():g} s: topic '{topic}' gave {len(records)} records, the "
                        f"last ones {records[-3:]}"
                    )
                    raise AssertionError(message)
                records += reader.poll()
        return records


def _as_record(record: Record | bytes | str) -> Record:
    if isinstance(record, Record):
        return record
    return Record(value=record.encode() if isinstance(record, str) else record)
