# SPDX-License-Identifier: Apache-2.0
"""Fixtures for every test: real brokers, each started when the first test asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.local import Broker
from headrace.testing import Kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST_FIRST = (
    "test_cluster",
    "test_live",
    "test_supervise",
    "test_demo",
    "test_endurance",
    "test_functions",
    "test_processors",
    "test_checkpoints",
    "test_crashes",
    "test_handover",
    "test_run",
    "test_examples",
    "test_local_kafka",
)


# They make sessions in their own process, and a JVM keeps the jars of its first one: it has to be that of the fixture.
LAST = ("test_docs", "test_session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest files first: two processes share the files, and neither should wait for the other's last one."""
    rank = {name: number for number, name in enumerate(LONGEST_FIRST)} | dict.fromkeys(LAST, len(items))
    items.sort(key=lambda item: rank.get(item.path.stem, len(LONGEST_FIRST)))


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """A broker that all tests share; one that a test stops or kills is that test's own."""
    with Broker() as broker:
        yield broker


@pytest.fixture(scope="session")
def kafka(broker: Broker) -> Kafka:
    """The shared broker, with what tests do to it."""
    return Kafka(broker.bootstrap)


@pytest.fixture(scope="session")
def secure_broker() -> Iterator[Broker]:
    """A broker with a second listener that wants TLS and a password."""
    with Broker(sasl_ssl=True) as broker:
        yield broker
