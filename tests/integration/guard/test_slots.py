# SPDX-License-Identifier: Apache-2.0
"""All tasks of a real-time query run at once; what they need is added up at every epoch. The session has 16 slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.streams import PATIENCE, Bench, await_epochs, failure_of, run_micro_batches, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from headrace.testing import Kafka


def counts(rows: DataFrame) -> DataFrame:
    """One shuffle of ``spark.sql.shuffle.partitions`` partitions."""
    return rows.groupBy("value").count().selectExpr("value", "CAST(count AS STRING) AS key")


def another(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A second query's place."""
    return Bench(bench.spark, bench.kafka, str(tmp_path_factory.mktemp("another")))


@pytest.fixture
def sink(kafka: Kafka) -> str:
    return kafka.topic("out")


@pytest.fixture
def twenty_shuffle_partitions(set_conf: Callable[[str, str], None]) -> None:
    set_conf("spark.sql.shuffle.partitions", "20")


@pytest.mark.usefixtures("twenty_shuffle_partitions")
@pytest.mark.parametrize(
    ("partitions", "shape", "sum_shown"),
    [
        pytest.param(20, lambda rows: rows, "needs 20 ", id="a source"),
        pytest.param(8, lambda rows: rows.repartition(20), "8 + 20 = 28 ", id="a source and a shuffle"),
        pytest.param(8, lambda rows: counts(rows.repartition(20)), "8 + 20 + 20 = 48 ", id="a source and two shuffles"),
    ],
)
def test_too_few_slots_is_an_error_that_does_the_sum(
    bench: Bench, sink: str, partitions: int, shape: Callable[[DataFrame], DataFrame], sum_shown: str
) -> None:
    """Stateless queries too, which Spark itself lets start and then leaves partitions unread."""
    source = bench.kafka.topic("wide", partitions=partitions)
    bench.kafka.produce(source, ["unread"])
    query = start_real_time(bench.write(shape(bench.read(source)).select("key", "value"), sink))
    condition, message = failure_of(query)
    assert condition == "SLOTS_INSUFFICIENT"
    assert sum_shown in message
    assert "there are 16" in message
    assert bench.kafka.read(sink) == []


def test_several_partitions_share_a_slot(bench: Bench, sink: str) -> None:
    """With ``maxPartitions`` twenty partitions need four slots, and all are read."""
    source = bench.kafka.topic("wide", partitions=20)
    bench.kafka.produce(source, [str(number) for number in range(100)])
    start_real_time(bench.write(bench.read(source, maxPartitions="4").select("value"), sink))
    assert len(bench.kafka.read_until(sink, 100, timeout=PATIENCE)) == 100


def test_partitions_pinned_in_a_checkpoint_count(bench: Bench, set_conf: Callable[[str, str], None], sink: str) -> None:
    """A checkpoint keeps the number of shuffle partitions it began with; the sum is made with that one."""
    source = bench.kafka.topic("narrow", partitions=1)
    bench.kafka.produce(source, ["a", "b"])
    writer = bench.write(counts(bench.read(source)), sink)
    set_conf("spark.sql.shuffle.partitions", "17")
    run_micro_batches(writer)
    set_conf("spark.sql.shuffle.partitions", "2")
    condition, message = failure_of(start_real_time(writer))
    assert condition == "SLOTS_INSUFFICIENT"
    assert "1 + 17 = 18 " in message


def test_real_time_queries_of_one_application_count_together(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory, sink: str
) -> None:
    """A second query must fit beside the first; once the first has stopped, its slots are free."""
    wide = bench.kafka.topic("wide", partitions=10)
    first = start_real_time(bench.write(bench.read(wide).select("value"), sink), "1 second")
    await_epochs(first, 1)
    second = another(bench, tmp_path_factory)
    condition, message = failure_of(start_real_time(second.write(second.read(wide).select("value"), sink)))
    assert condition == "SLOTS_INSUFFICIENT"
    assert "hold 10" in message
    first.stop()
    bench.kafka.produce(wide, ["read by the second"])
    start_real_time(second.write(second.read(wide).select("value"), sink))
    assert bench.kafka.read_until(sink, 1, timeout=PATIENCE)
