# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Kafka connector share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.kafka.driver import logging_to
from tests.integration.kafka.streams import Streams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.testing import Kafka


@pytest.fixture
def streams(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> Iterator[Streams]:
    """Queries against the shared broker, stopped when the test ends."""
    running = Streams(spark, kafka, tmp_path)
    yield running
    running.stop()


@pytest.fixture
def set_application(spark: SparkSession) -> Iterator[Callable[[str, str], None]]:
    """Changes settings of the application, which Spark itself lets nobody change once it runs."""
    conf = spark.sparkContext._jsc.sc().conf()
    names = []

    def set_one(name: str, value: str) -> None:
        names.append(name)
        conf.set(name, value)

    yield set_one
    for name in names:
        conf.remove(name)


@pytest.fixture
def engine_log(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The file to which the engine logs during the test."""
    with logging_to(spark, tmp_path_factory.mktemp("log") / "engine.log") as path:
        yield path
