# SPDX-License-Identifier: Apache-2.0
"""Many epochs, and company."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from headrace.local import Record, Writer
from tests.integration.streams import PATIENCE, Bench, await_epochs, start_real_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from headrace.testing import Kafka

EPOCHS = 50
RATE = 5_000
PARTITIONS = 2


@contextmanager
def load(bootstrap: str, topic: str, rate: int) -> Iterator[list[int]]:
    """Sends numbered records at fixed times; each partition has its own numbers, from 0. Yields how many it sent."""
    sent = [0] * PARTITIONS
    stopping = threading.Event()

    def send() -> None:
        writer = Writer(bootstrap)
        start = time.monotonic()
        while not stopping.is_set():
            for _ in range(int((time.monotonic() - start) * rate) - sum(sent)):
                partition = sum(sent) % PARTITIONS
                writer.write(topic, Record(value=str(sent[partition]).encode(), partition=partition))
                sent[partition] += 1
            stopping.wait(0.001)
        writer.flush()

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    yield sent
    stopping.set()
    thread.join()


@pytest.fixture
def source(kafka: Kafka) -> str:
    return kafka.topic("numbers", partitions=PARTITIONS)


@pytest.fixture
def sink(kafka: Kafka) -> str:
    return kafka.topic("copies", partitions=PARTITIONS)


@pytest.mark.timeout(600)
@pytest.mark.soak
def test_nothing_is_lost_and_order_is_kept_over_fifty_epochs(bench: Bench, source: str, sink: str) -> None:
    """5,000 records a second over 50 epochs of a second: each partition comes out as it went in, record for record."""
    query = start_real_time(bench.write(bench.read(source).select("value", "partition"), sink), "1 second")
    await_epochs(query, 1)
    with load(bench.kafka.bootstrap, source, RATE) as sent:
        for _ in range(EPOCHS):
            await_epochs(query, 1)
    written = bench.kafka.read_until(sink, sum(sent), timeout=PATIENCE)
    assert query.exception() is None
    for partition, count in enumerate(sent):
        copies = [int(record.value or b"") for record in written if record.partition == partition]
        assert copies == list(range(count))


@pytest.fixture
def batch_jobs(spark: SparkSession) -> Iterator[list[int]]:
    """Short jobs with a shuffle, one after the other, until the test ends; the list grows with each that went well."""
    done: list[int] = []
    stopping = threading.Event()

    def run() -> None:
        while not stopping.is_set():
            done.append(spark.range(1000).selectExpr("id % 7 AS k").groupBy("k").count().count())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield done
    stopping.set()
    thread.join()


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("few_partitions")
def test_modes_share_an_application(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory, source: str, sink: str, batch_jobs: list[int]
) -> None:
    """A real-time query, a micro-batch query and batch jobs, all with shuffles, go on side by side for ten epochs."""
    counts = bench.read(source).groupBy("value").count().selectExpr("value", "CAST(count AS STRING) AS key")
    other = Bench(bench.spark, bench.kafka, str(tmp_path_factory.mktemp("micro")))
    with load(bench.kafka.bootstrap, source, rate=200):
        real_time = start_real_time(bench.write(counts, sink), "1 second")
        micro_batch = other.write(counts, sink).trigger(processingTime="200 milliseconds").start()
        await_epochs(real_time, 10)
        await_epochs(micro_batch, 2)
    assert real_time.isActive
    assert micro_batch.isActive
    assert batch_jobs
    assert set(batch_jobs) == {7}
