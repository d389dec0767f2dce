# SPDX-License-Identifier: Apache-2.0
"""The slots that a check counts are those that the guard counts when the query starts. The session has 16."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

import headrace
from headrace.advise.report import Outcome, Report
from headrace.testing import Kafka
from tests.integration.guard.test_slots import counts
from tests.integration.streams import Bench, run_micro_batches

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame


@pytest.fixture(scope="module")
def source(kafka: Kafka) -> str:
    return kafka.topic("wide", partitions=8)


@pytest.fixture
def twenty_shuffle_partitions(set_conf: Callable[[str, str], None]) -> None:
    set_conf("spark.sql.shuffle.partitions", "20")


@pytest.mark.usefixtures("twenty_shuffle_partitions")
@pytest.mark.parametrize(
    ("shape", "parts", "outcome"),
    [
        pytest.param(lambda rows: rows, (8,), Outcome.READY, id="a source"),
        pytest.param(lambda rows: rows.repartition(20), (8, 20), Outcome.TOO_FEW_SLOTS, id="and a shuffle"),
        pytest.param(lambda rows: counts(rows.repartition(20)), (8, 20, 20), Outcome.TOO_FEW_SLOTS, id="and two"),
    ],
)
def test_partitions_and_shuffles_are_added_up(
    bench: Bench,
    source: str,
    shape: Callable[[DataFrame], DataFrame],
    parts: tuple[int, ...],
    outcome: Outcome,
) -> None:
    query = headrace.check(bench.write(shape(bench.read(source)).select("key", "value"), "out"))
    report = Report(queries=[query])
    assert (report.size.parts, report.size.needed, report.size.offered) == (parts, sum(parts), 16)
    assert report.outcome is outcome


def test_partitions_that_share_a_task_need_one_slot(bench: Bench, source: str) -> None:
    query = headrace.check(bench.write(bench.read(source, maxPartitions="4").select("value"), "out"))
    assert query.slots_needed == 4


def test_without_a_setting_a_shuffle_has_our_number_of_partitions(bench: Bench, source: str) -> None:
    assert headrace.check(bench.write(counts(bench.read(source)), "out")).shuffles == (4,)
    assert bench.spark.conf.get("spark.sql.shuffle.partitions") == "200"


def test_memory_is_counted_where_python_and_state_are(bench: Bench, source: str) -> None:
    shout = F.udf(lambda text: str(text).upper())
    rows = counts(bench.read(source).withColumn("value", shout("value"))).withColumn("value", shout("value"))
    query = headrace.check(bench.write(rows, "out"))
    assert (sorted(query.python_stages), list(query.state_stages)) == ([0, 1], [1])


def test_partitions_pinned_in_a_checkpoint_count(
    bench: Bench, kafka: Kafka, set_conf: Callable[[str, str], None]
) -> None:
    narrow = kafka.topic("narrow", partitions=1)
    kafka.produce(narrow, ["a", "b"])
    writer = bench.write(counts(bench.read(narrow)), kafka.topic("out"))
    set_conf("spark.sql.shuffle.partitions", "17")
    run_micro_batches(writer)
    set_conf("spark.sql.shuffle.partitions", "2")
    query = headrace.check(writer)
    assert (query.pinned_partitions, query.slots_needed) == (17, 1 + 17)


def test_without_brokers_there_is_a_verdict_but_no_sum(bench: Bench) -> None:
    away = Bench(bench.spark, Kafka("localhost:1"), bench.checkpoint)
    query = headrace.check(away.write(counts(away.read("anything")), "out"))
    assert query.is_eligible
    assert [source.unknown for source in query.sources] == ["KAFKA_UNREACHABLE"]
    assert query.slots_needed is None
    assert Report(queries=[query]).outcome is Outcome.READY
