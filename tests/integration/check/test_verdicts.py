# SPDX-License-Identifier: Apache-2.0
"""A check says of each query what becomes of it when it is started, and starts nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headrace
from tests.integration.check.verdicts import CAN, CANNOT, REFUSAL, SHAPE
from tests.integration.guard.refusals import counts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from headrace.testing import Kafka
    from tests.integration.probes import TaskRecorder
    from tests.integration.streams import Bench


@pytest.fixture(scope="module")
def topics(kafka: Kafka) -> Iterator[tuple[str, str, str]]:
    """Two inputs, one of them with records, and an output that must stay empty."""
    first, second, output = kafka.topic("first", partitions=3), kafka.topic("second"), kafka.topic("output")
    kafka.produce(first, ["read me not"] * 10)
    yield first, second, output
    assert kafka.read(output) == []


@pytest.fixture(autouse=True)
def nothing_happens(bench: Bench, recorder: TaskRecorder) -> Iterator[None]:
    """No query starts, no task runs, and there is no checkpoint."""
    yield
    assert bench.spark.streams.active == []
    assert recorder.tasks() == []
    assert not Path(bench.checkpoint).exists()


def inputs(bench: Bench, topics: tuple[str, str, str]) -> tuple[DataFrame, DataFrame]:
    return bench.read(topics[0]), bench.read(topics[1])


@pytest.mark.parametrize("name", CAN)
def test_what_can_run_is_called_so(name: str, bench: Bench, topics: tuple[str, str, str]) -> None:
    """Each of its parts falls under a line of the table; how many slots it needs is known."""
    query = headrace.check(bench.write(SHAPE[name].build(*inputs(bench, topics)), topics[2]))
    assert query.conditions == ()
    assert {finding.condition for finding in query.findings} == CAN[name]
    assert query.slots_needed is not None


@pytest.mark.parametrize("name", REFUSAL)
def test_what_cannot_run_is_called_so(name: str, bench: Bench, topics: tuple[str, str, str]) -> None:
    """The condition is that of the refusal, and none besides; with it come the reason and what to do."""
    refusal = REFUSAL[name]
    writer = refusal.finish(bench.write(refusal.build(*inputs(bench, topics)), topics[2]))
    query = headrace.check(writer)
    assert query.conditions == (refusal.condition,)
    assert all(finding.reason for finding in query.refused)
    assert query.slots_needed is None


def test_there_are_twelve_of_each() -> None:
    assert len(CAN) == len(CANNOT) == 12
    assert set(CANNOT) <= set(REFUSAL)


def test_a_wrong_option_is_found(bench: Bench, topics: tuple[str, str, str]) -> None:
    rows = bench.read(topics[0], maxOffsetsPerTrigger="100").select("value")
    assert headrace.check(bench.write(rows, topics[2])).conditions == ("KAFKA_OPTION_INVALID",)


def test_a_promise_that_cannot_be_kept_is_found(bench: Bench, topics: tuple[str, str, str]) -> None:
    """Exactly-once delivery, which a query with a shuffle cannot have, and one without can."""
    first, _ = inputs(bench, topics)
    copies, counted = (
        headrace.check(bench.write(rows, topics[2]).option("delivery", "exactly-once"))
        for rows in (first.select("value"), counts(first))
    )
    assert copies.conditions == ()
    assert counted.conditions == ("EXACTLY_ONCE_IMPOSSIBLE",)


def test_a_missing_checkpoint_is_found(bench: Bench, topics: tuple[str, str, str]) -> None:
    writer = bench.read(topics[0]).select("value").writeStream.format("kafka").outputMode("update")
    writer = writer.options(**{"kafka.bootstrap.servers": bench.kafka.bootstrap, "topic": topics[2]})
    query = headrace.check(writer)
    assert query.conditions == ("CHECKPOINT_LOCATION_MISSING",)
    assert "SOURCE_KAFKA" in {finding.condition for finding in query.findings}


def test_what_is_wrong_with_a_sink_hides_nothing_else(bench: Bench, topics: tuple[str, str, str]) -> None:
    writer = bench.read(topics[0]).coalesce(1).writeStream.foreachBatch(lambda _rows, _epoch: None)
    assert headrace.check(writer).conditions == ("FOREACH_BATCH", "OPERATOR_UNKNOWN")


@pytest.mark.parametrize("sink", ["console", "noop"])
def test_other_sinks_can_run_too(sink: str, bench: Bench, topics: tuple[str, str, str]) -> None:
    assert headrace.check(bench.read(topics[0]).writeStream.format(sink)).is_eligible


def test_a_writer_in_python_can_run_too(bench: Bench, topics: tuple[str, str, str]) -> None:
    assert headrace.check(bench.read(topics[0]).writeStream.foreach(lambda _row: None)).is_eligible


def test_no_sink_of_files_is_made(bench: Bench, topics: tuple[str, str, str], tmp_path: Path) -> None:
    """Spark would begin with a folder for its log, and later readers would find nothing else. The writer stays."""
    target = tmp_path / "files"
    target.mkdir()
    writer = bench.read(topics[0]).writeStream.format("parquet").option("path", str(target))
    writer = writer.option("checkpointLocation", bench.checkpoint)
    assert [headrace.check(writer).conditions for _ in range(2)] == [("SINK_FILE",)] * 2
    assert list(target.iterdir()) == []


def test_what_advice_needs_is_seen(bench: Bench, topics: tuple[str, str, str]) -> None:
    """State, the clock, the clients' settings, the records of each partition, why commits wait for the epoch's end."""
    rows = bench.read(topics[0], **{"kafka.fetch.min.bytes": "1000"}).selectExpr("key", "current_timestamp() timestamp")
    writer = bench.write(counts(rows), topics[2]).option("kafka.linger.ms", "7")
    query = headrace.check(writer)
    assert [(state.operator, state.bounded) for state in query.state] == [("Aggregate", False)]
    assert query.frozen_clock
    assert query.commits_at_epoch_end == "the query keeps state"
    assert query.producer["linger.ms"] == "7"
    (source,) = query.sources
    assert source.client["fetch.min.bytes"] == "1000"
    assert sum(source.records.values()) == 10
