# SPDX-License-Identifier: Apache-2.0
"""Records of any broker: write and read them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    TIMESTAMP_NOT_AVAILABLE,
    Consumer,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka import KafkaError as ClientError

from headrace.local.topics import client_settings, partitions_of, request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TIMEOUT_SECONDS = 30
_CONNECT_SECONDS = 1
_POLL_SECONDS = 0.1
_BATCH = 1000

# The client reports these and then tries again on its own.
_PASSING = (
    ClientError._ALL_BROKERS_DOWN,
    ClientError._TRANSPORT,
    ClientError.LEADER_NOT_AVAILABLE,
    ClientError.NOT_LEADER_FOR_PARTITION,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """A record to write, or one that was read.

    Attributes:
        value: Its value; ``None`` is a tombstone.
        key: Its key.
        headers: Its headers, in order; a name may occur twice.
        partition: Its partition; to write, ``None`` leaves the choice to the client, by the key's hash.
        timestamp_ms: Its creation time in milliseconds since 1970; to write, ``None`` means now.
        offset: Its offset; ``None`` in a record to write.
    """

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp_ms: int | None = None
    offset: int | None = None


class Writer:
    """Writes records to a broker; each is durable when ``flush`` returns.

    Args:
        bootstrap: The broker's address.
        client: Further settings of the confluent-kafka client, such as those for TLS or ``transactional.id``.
    """

    def __init__(self, bootstrap: str, client: Mapping[str, str | int] | None = None) -> None:
        self._bootstrap = bootstrap
        settings = {
            **client_settings(bootstrap),
            # Retries keep the order within a partition and write no record twice.
            "enable.idempotence": True,
            "message.max.bytes": 10_000_000,
            # Equal keys go where Java clients and Spark would send them; this client's own default differs.
            "partitioner": "murmur2_random",
            # The default holds each record back for 5 ms in the hope of company.
            "linger.ms": 0,
        }
        self._producer = Producer({**settings, **(client or {})})
        self._failed: ClientError | None = None
        self._is_connected = False
        self._is_transactional = False

    def write(self, topic: str, record: Record) -> None:
        """Hands a record to the client, which sends it in the background."""
        if not self._is_connected:
            self._connect(topic)
        while True:
            try:
                self._producer.produce(
                    topic,
                    record.value,
                    record.key,
                    partition=-1 if record.partition is None else record.partition,
                    timestamp=record.timestamp_ms or 0,
                    headers=list(record.headers),
                    on_delivery=self._note,
                )
            except BufferError:
                # The client's buffer is full: wait for deliveries.
                self._producer.poll(_POLL_SECONDS)
            else:
                break
        self._producer.poll(0)

    def _connect(self, topic: str) -> None:
        """Waits for a connection: without one the client gets no producer id, and asks again half a second later."""
        # A broker that is not there now may be when the records are flushed; that says so if not.
        with contextlib.suppress(KafkaException):
            self._producer.list_topics(topic, timeout=_CONNECT_SECONDS)
        self._is_connected = True

    def flush(self) -> None:
        """Returns once every record handed over so far is durable.

        Raises:
            KafkaRequestError: One of them was refused, or there was no answer in time.
        """
        with request(self._bootstrap, "take every record", "Records before the one that failed may be there."):
            if self._producer.flush(_TIMEOUT_SECONDS) > 0:
                raise KafkaException(ClientError(ClientError._MSG_TIMED_OUT))
            if self._failed is not None:
                raise KafkaException(self._failed)

    @contextlib.contextmanager
    def transaction(self, *, commit: bool = True) -> Iterator[None]:
        """Makes what is written inside visible all at once, or never; needs ``transactional.id`` in ``client``.

        Args:
            commit: Whether to commit at the end; otherwise, and after an error, the transaction is aborted.
        """
        with request(self._bootstrap, "run the transaction", "It was aborted: none of its records is visible."):
            if not self._is_transactional:
                self._producer.init_transactions(_TIMEOUT_SECONDS)
                self._is_connected = self._is_transactional = True
            self._producer.begin_transaction()
            try:
                yield
                self.flush()
            except BaseException:
                self._producer.abort_transaction(_TIMEOUT_SECONDS)
                raise
            if commit:
                self._producer.commit_transaction(_TIMEOUT_SECONDS)
            else:
                self._producer.abort_transaction(_TIMEOUT_SECONDS)

    def _note(self, error: ClientError | None, _: Message) -> None:
        self._failed = self._failed or error


class Reader:
    """Reads all partitions of a topic from a broker, without a consumer group.

    Args:
        bootstrap: The broker's address.
        topic: The topic.
        from_beginning: Whether to start at the first record; otherwise at the next one to come.
        committed: Whether to skip records of open and aborted transactions.
        client: Further settings of the confluent-kafka client, such as those for TLS.
    """

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        *,
        from_beginning: bool = True,
        committed: bool = False,
        client: Mapping[str, str] | None = None,
    ) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._at_end: set[int] = set()
        settings = {
            **client_settings(bootstrap),
            # The client insists on a group; none is joined, because partitions are assigned and nothing is committed.
            "group.id": "headrace",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed" if committed else "read_uncommitted",
        }
        self._consumer = Consumer({**settings, **(client or {})})
        # Asked by the very client that reads: before it has a connection it looks in vain for where a partition begins,
        # and again only half a second later.
        with request(bootstrap, f"describe topic '{topic}'"):
            self._partitions = partitions_of(self._consumer, topic)
        start = OFFSET_BEGINNING if from_beginning else OFFSET_END
        self._consumer.assign([TopicPartition(topic, partition, start) for partition in self._partitions])

    @property
    def at_end(self) -> bool:
        """Whether ``poll`` has returned every record that was there, in all partitions."""
        return len(self._at_end) == len(self._partitions)

    def poll(self, timeout_seconds: float = _POLL_SECONDS) -> list[Record]:
        """Returns the records that came within the time, as soon as there is one.

        Raises:
            KafkaRequestError: The broker refused.
        """
        with request(self._bootstrap, f"read topic '{self._topic}'"):
            first = self._consumer.poll(timeout_seconds)
            messages = [first, *self._consumer.consume(_BATCH, 0)] if first is not None else []
            return [record for message in messages if (record := self._take(message)) is not None]

    def close(self) -> None:
        """Ends the connections."""
        self._consumer.close()

    def _take(self, message: Message) -> Record | None:
        error = message.error()
        partition = message.partition()
        if error is None:
            self._at_end.discard(_present(partition))
            kind, timestamp_ms = message.timestamp()
            return Record(
                value=message.value(),
                key=message.key(),
                headers=_headers(message),
                partition=partition,
                timestamp_ms=None if kind == TIMESTAMP_NOT_AVAILABLE else timestamp_ms,
                offset=message.offset(),
            )
        if error.code() == ClientError._PARTITION_EOF:
            self._at_end.add(_present(partition))
        elif error.code() not in _PASSING:
            raise KafkaException(error)
        return None


def _present(value: int | None) -> int:
    assert value is not None, "only messages made by hand lack it"
    return value


def _headers(message: Message) -> tuple[tuple[str, bytes | None], ...]:
    headers = message.headers() or []
    # The client's types also allow what only a writer may give: a dictionary, and text.
    pairs = headers.items() if isinstance(headers, dict) else headers
    return tuple((name, value.encode() if isinstance(value, str) else value) for name, value in pairs)
