# SPDX-License-Identifier: Apache-2.0
"""Topics of any broker: make, change, look at, delete."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic, OffsetSpec, ResourceType

from headrace.errors import KafkaRequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from confluent_kafka import Consumer

_TIMEOUT_SECONDS = 10
_POLL_SECONDS = 0.02

_EARLIEST = OffsetSpec.earliest()
_LATEST = OffsetSpec.latest()

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Partition:
    """One partition of a topic.

    Attributes:
        number: Its number within the topic.
        earliest: The offset of its first record that is still there.
        latest: The offset that its next record will get.
    """

    number: int
    earliest: int
    latest: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Topic:
    """A topic as its broker describes it.

    Attributes:
        name: Its name.
        partitions: Its partitions, by number.
        config: The settings in which it differs from the broker's defaults.
    """

    name: str
    partitions: tuple[Partition, ...]
    config: Mapping[str, str]


class Topics:
    """The topics of a broker.

    Every method raises ``KafkaRequestError`` when the broker refuses the request or does not answer within seconds.

    Args:
        bootstrap: The broker's address.
        client: Further settings of the confluent-kafka client, such as those for TLS.
    """

    def __init__(self, bootstrap: str, client: Mapping[str, str] | None = None) -> None:
        self.bootstrap = bootstrap
        self._admin = AdminClient({**client_settings(bootstrap), **(client or {})})

    def brokers(self) -> int:
        """Returns how many brokers the cluster has that serve now."""
        with request(self.bootstrap, "name its brokers"):
            return len(self._admin.list_topics(timeout=_TIMEOUT_SECONDS).brokers)

    def names(self) -> list[str]:
        """Lists the topics, without Kafka's own."""
        with request(self.bootstrap, "list its topics"):
            topics = self._admin.list_topics(timeout=_TIMEOUT_SECONDS).topics
        return sorted(name for name in topics if not name.startswith("__"))

    def create(self, name: str, *, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        """Makes a topic and returns once it can be used."""
        with request(self.bootstrap, f"create topic '{name}'"):
            new = NewTopic(name, num_partitions=partitions, replication_factor=-1, config=dict(config or {}))
            _result(self._admin.create_topics([new], operation_timeout=_TIMEOUT_SECONDS)[name])
            _await(lambda: self._has_leaders(name, partitions))

    def delete(self, name: str) -> None:
        """Deletes a topic with its records and returns once its name is free again."""
        with request(self.bootstrap, f"delete topic '{name}'"):
            _result(self._admin.delete_topics([name], operation_timeout=_TIMEOUT_SECONDS)[name])
            _await(lambda: name not in self.names())

    def grow(self, name: str, partitions: int) -> None:
        """Adds partitions to a topic, up to that many in all, and returns once they can be used."""
        with request(self.bootstrap, f"give topic '{name}' {partitions} partitions"):
            new = NewPartitions(name, partitions)
            _result(self._admin.create_partitions([new], operation_timeout=_TIMEOUT_SECONDS)[name])
            _await(lambda: self._has_leaders(name, partitions))

    def truncate(self, name: str, before: Mapping[int, int]) -> None:
        """Deletes the oldest records of a topic, as retention would.

        Args:
            name: The topic.
            before: The first offset to keep, by partition.
        """
        with request(self.bootstrap, f"delete records of topic '{name}'"):
            cuts = [TopicPartition(name, partition, offset) for partition, offset in before.items()]
            for future in self._admin.delete_records(cuts).values():
                _result(future)

    def describe(self, name: str) -> Topic:
        """Describes a topic."""
        numbers = self.partitions(name)
        with request(self.bootstrap, f"describe topic '{name}'"):
            earliest = self._offsets(name, numbers, _EARLIEST)
            latest = self._offsets(name, numbers, _LATEST)
            resource = ConfigResource(ResourceType.TOPIC, name)
            config = _result(self._admin.describe_configs([resource])[resource])
        return Topic(
            name=name,
            partitions=tuple(Partition(number=n, earliest=earliest[n], latest=latest[n]) for n in numbers),
            config={key: entry.value for key, entry in sorted(config.items()) if not entry.is_default},
        )

    def partitions(self, name: str) -> list[int]:
        """Lists the numbers of a topic's partitions."""
        with request(self.bootstrap, f"describe topic '{name}'"):
            return partitions_of(self._admin, name)

    def _has_leaders(self, name: str, partitions: int) -> bool:
        """Says whether that many partitions serve requests: the broker hears of a new one after it was created."""
        # Without this request the client would go on for long with what it once heard about the topic.
        topic = self._admin.list_topics(topic=name, timeout=_TIMEOUT_SECONDS).topics[name]
        try:
            return len(topic.partitions) >= partitions and bool(self._offsets(name, range(partitions), _LATEST))
        except KafkaException:
            # The topic exists, so what is wrong with it is passing: no leader yet, or one that does not know it.
            return False

    def _offsets(self, name: str, numbers: Sequence[int], spec: OffsetSpec) -> dict[int, int]:
        wanted = {TopicPartition(name, number): spec for number in numbers}
        return {at.partition: _result(future).offset for at, future in self._admin.list_offsets(wanted).items()}


def partitions_of(client: AdminClient | Consumer, name: str) -> list[int]:
    """Lists the numbers of a topic's partitions, as a client of any kind hears of them."""
    topic = client.list_topics(topic=name, timeout=_TIMEOUT_SECONDS).topics[name]
    if topic.error is not None:
        raise KafkaException(topic.error)
    return sorted(topic.partitions)


def client_settings(bootstrap: str) -> dict[str, str | int | float | bool]:
    """Returns what every confluent-kafka client of ours has in common."""
    # A client logs on our stderr by default, each lost connection too; what matters is raised.
    return {"bootstrap.servers": bootstrap, "log_level": 2}


@contextlib.contextmanager
def request(bootstrap: str, action: str, outcome: str = "Nothing was changed.") -> Iterator[None]:
    """Turns the client's errors into ours.

    Args:
        bootstrap: The broker that is asked.
        action: What it is asked for, as a verb phrase.
        outcome: What became of the data if it fails, as a sentence.
    """
    try:
        yield
    except KafkaException as error:
        cause = error.args[0]
        reason = cause.str() if isinstance(cause, ClientError) else str(cause)
        raise KafkaRequestError(bootstrap, action, reason.rstrip("."), outcome) from error
    except TimeoutError as error:
        raise KafkaRequestError(bootstrap, action, "it did not answer in time", outcome) from error


def _await(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(_POLL_SECONDS)


def _result(future: Future[_T]) -> _T:
    return future.result(timeout=_TIMEOUT_SECONDS)
