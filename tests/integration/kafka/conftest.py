# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Kafka connector share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.kafka.streams import Streams

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.testing import Kafka


@pytest.fixture
def streams(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> Iterator[Streams]:
    """Queries against the shared broker, stopped when the test ends."""
    running = Streams(spark, kafka, tmp_path)
    yield running
    running.stop()
