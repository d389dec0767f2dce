# SPDX-License-Identifier: Apache-2.0
"""A checkpoint belongs to the query, not to the mode or the connector it was begun with."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import IllegalArgumentException

from tests.integration.modes.stock import run_stock
from tests.integration.streams import PATIENCE, await_epochs, run_micro_batches, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import DataStreamWriter

    from headrace.testing import Kafka
    from tests.integration.streams import Bench


def copies(rows: DataFrame) -> DataFrame:
    """No state."""
    return rows.select("key", "value")


def counts(rows: DataFrame) -> DataFrame:
    """A count by value."""
    return rows.groupBy("value").count().selectExpr("value AS key", "CAST(count AS STRING) AS value")


@pytest.fixture
def source(kafka: Kafka) -> str:
    return kafka.topic("in")


@pytest.fixture
def sink(kafka: Kafka) -> str:
    return kafka.topic("out")


def run_real_time(writer: DataStreamWriter, kafka: Kafka, sink: str, expected: int) -> None:
    """Runs until everything is written and committed."""
    query = start_real_time(writer, "1 second")
    kafka.read_until(sink, expected, timeout=PATIENCE)
    # Two: the first may have been ending when the last record came.
    await_epochs(query, 2)
    query.stop()


def version_of(checkpoint: str) -> str:
    """The commit log's, as its newest entry says."""
    newest = max(
        (path for path in Path(checkpoint, "commits").iterdir() if path.name.isdigit()), key=lambda p: int(p.name)
    )
    return newest.read_text().split("\n", 1)[0]


@pytest.mark.usefixtures("few_partitions")
@pytest.mark.parametrize("shape", [copies, counts])
def test_a_checkpoint_changes_mode_twice_and_loses_nothing(
    bench: Bench, source: str, sink: str, shape: Callable[[DataFrame], DataFrame]
) -> None:
    """Micro-batch, real time, micro-batch, real time: each takes up exactly where the last one stopped."""
    writer = bench.write(shape(bench.read(source)), sink)
    written = 0
    for is_real_time in (False, True, False, True):
        # No value twice in a round: also a micro-batch then writes as many results as it reads.
        bench.kafka.produce(source, [f"value-{number}" for number in range(20)])
        written += 20
        if is_real_time:
            run_real_time(writer, bench.kafka, sink, expected=written)
        else:
            run_micro_batches(writer)
    results = Counter((record.key, record.value) for record in bench.kafka.read(sink))
    assert version_of(bench.checkpoint) == "v2"
    if shape is copies:
        assert results == {(None, f"value-{number}".encode()): 4 for number in range(20)}
    else:
        assert results == {(f"value-{n}".encode(), str(c).encode()): 1 for n in range(20) for c in (1, 2, 3, 4)}


def test_progress_of_a_stateless_query_is_written_in_the_background(bench: Bench, source: str, sink: str) -> None:
    """Spark's asynchronous progress tracking is on by default, and our sink does not switch it off."""
    query = start_real_time(bench.write(copies(bench.read(source)), sink))
    execution = query._jsq.streamingQuery().getClass().getSimpleName()
    assert execution == "AsyncProgressTrackingMicroBatchExecution"


@pytest.mark.timeout(300)
def test_a_stateless_checkpoint_of_sparks_connector_goes_on_in_real_time_and_back(
    bench: Bench, source: str, sink: str
) -> None:
    """Begun by stock Spark in format 1, continued by us in real time, then by stock Spark again: every record once."""
    for turn in range(3):
        bench.kafka.produce(source, [f"{turn}-{number}" for number in range(10)])
        if turn == 1:
            run_real_time(bench.write(copies(bench.read(source)), sink), bench.kafka, sink, expected=20)
        else:
            run_stock(bench, source, sink, "copy")
        if turn == 0:
            assert version_of(bench.checkpoint) == "v1"
    values = Counter(bench.kafka.values(sink))
    assert values == {f"{turn}-{number}".encode(): 1 for turn in range(3) for number in range(10)}


@pytest.mark.timeout(300)
def test_sparks_connector_goes_on_with_our_checkpoint(bench: Bench, source: str, sink: str) -> None:
    """The first offsets and the offset log have the form that Spark's connector reads."""
    bench.kafka.produce(source, ["ours"])
    run_micro_batches(bench.write(copies(bench.read(source)), sink))
    first = Path(bench.checkpoint, "sources", "0", "0").read_bytes()
    assert first.startswith(b"\x00v1\n")
    assert json.loads(first[4:]) == {source: {"0": 0, "1": 0}}
    bench.kafka.produce(source, ["theirs"])
    run_stock(bench, source, sink, "copy")
    assert Counter(bench.kafka.values(sink)) == {b"ours": 1, b"theirs": 1}


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("few_partitions")
def test_a_stateful_checkpoint_in_format_1_is_refused_in_real_time_only(bench: Bench, source: str, sink: str) -> None:
    """Its state could be restored wrong after a failed epoch; in micro-batch mode it goes on as it is."""
    bench.kafka.produce(source, ["a"])
    run_stock(bench, source, sink, "count")
    writer = bench.write(counts(bench.read(source)), sink)
    with pytest.raises(IllegalArgumentException) as refused:
        start_real_time(writer)
    assert refused.value.getCondition() == "CHECKPOINT_FORMAT_1"
    bench.kafka.produce(source, ["a"])
    run_micro_batches(writer)
    assert bench.kafka.values(sink) == [b"1", b"2"]


def test_a_first_epoch_killed_in_the_middle_of_its_commit_can_be_started_again(
    bench: Bench, source: str, sink: str
) -> None:
    """A half-written entry of the commit log, as a kill leaves it, does not make the checkpoint unusable."""
    for log in ("commits", "offsets"):
        folder = Path(bench.checkpoint, log)
        folder.mkdir(parents=True)
        (folder / ".0.d9a5f3c1-0000-4000-8000-000000000000.tmp").write_bytes(b"v2\n{")
    bench.kafka.produce(source, ["read"])
    start_real_time(bench.write(copies(bench.read(source)), sink))
    bench.kafka.read_until(sink, 1, timeout=PATIENCE)
