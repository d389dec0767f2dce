# SPDX-License-Identifier: Apache-2.0
"""One Spark for all integration tests of a process; what needs another runs as a child process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession

import headrace

# Tests share tables and steps with each other and with the programs they start: `from tests.integration...`.
sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.integration.probes import LogRecorder, TaskRecorder, with_probes
from tests.integration.streams import Bench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.testing import Kafka


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session with the engine, sixteen slots and the probes of ``engine/src/test``."""
    # Many tests count epochs, so those are as short as their triggers say, also where progress is recorded inside.
    conf = {"spark.ui.enabled": "false", "spark.headrace.realtime.epoch": "0s"}
    session = headrace.session("tests", master="local[16]", conf=with_probes(conf))
    yield session
    session.stop()


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """A checkpoint location that does not exist yet."""
    return str(tmp_path / "checkpoint")


@pytest.fixture
def bench(spark: SparkSession, kafka: Kafka, checkpoint: str) -> Bench:
    """What a test of a query needs, in one."""
    return Bench(spark, kafka, checkpoint)


@pytest.fixture
def set_conf(spark: SparkSession) -> Iterator[Callable[[str, str], None]]:
    """Changes settings of the shared session until the test ends."""
    before: dict[str, str | None] = {}

    def set_one(key: str, value: str) -> None:
        before.setdefault(key, spark.conf.get(key, None))
        spark.conf.set(key, value)

    yield set_one
    for key, value in before.items():
        if value is None:
            spark.conf.unset(key)
        else:
            spark.conf.set(key, value)


@pytest.fixture
def few_partitions(set_conf: Callable[[str, str], None]) -> None:
    """Spares micro-batch queries Spark's 200 shuffle partitions."""
    set_conf("spark.sql.shuffle.partitions", "3")


@pytest.fixture
def recorder(spark: SparkSession) -> Iterator[TaskRecorder]:
    """Notes when tasks begin and end."""
    recorder = TaskRecorder(spark)
    yield recorder
    recorder.close()


@pytest.fixture
def log(spark: SparkSession) -> Iterator[LogRecorder]:
    """Keeps what the driver logs."""
    recorder = LogRecorder(spark)
    yield recorder
    recorder.close()


@pytest.fixture(autouse=True)
def no_query_outlives_its_test() -> Iterator[None]:
    """Stops every query that a test leaves running, so that its slots are free for the next."""
    yield
    session = SparkSession.getActiveSession()
    if session is not None:
        for query in session.streams.active:
            query.stop()
