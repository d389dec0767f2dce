# SPDX-License-Identifier: Apache-2.0
"""What real-time mode cannot run is refused before anything runs, by a name that programs can match."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import IllegalArgumentException

from headrace.advise.rules import Verdict, load_rules
from tests.integration.guard.refusals import BEFORE_THE_FIRST_TASK, IN_START, Refusal
from tests.integration.probes import TaskRecorder
from tests.integration.streams import failure_of, read, run_to_end, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import DataStreamWriter

    from headrace.testing import Kafka

# Said by the guard itself, not by a line of the table.
WITHOUT_RULE = {"OUTPUT_MODE"}


def name_of(refusal: Refusal) -> str:
    return refusal.name


@pytest.fixture(scope="module")
def topics(kafka: Kafka) -> tuple[str, str, str]:
    """Two inputs, one of them with records, and an output that must stay empty."""
    first, second, output = kafka.topic("first"), kafka.topic("second"), kafka.topic("output")
    kafka.produce(first, ["read me"] * 10)
    return first, second, output


@pytest.fixture
def recorder(spark: SparkSession) -> Iterator[TaskRecorder]:
    recorder = TaskRecorder(spark)
    yield recorder
    recorder.close()


def prepare(
    refusal: Refusal, spark: SparkSession, kafka: Kafka, topics: tuple[str, str, str], checkpoint: str
) -> DataStreamWriter:
    first, second, output = topics
    rows = refusal.build(read(spark, kafka.bootstrap, first), read(spark, kafka.bootstrap, second))
    writer = write(rows, kafka.bootstrap, output, checkpoint).outputMode("update")
    return refusal.finish(writer).trigger(realTime="5 minutes")


@pytest.mark.parametrize("refusal", IN_START, ids=name_of)
def test_start_refuses(
    refusal: Refusal, spark: SparkSession, kafka: Kafka, topics: tuple[str, str, str], checkpoint: str
) -> None:
    """`start()` raises, and leaves no query and no checkpoint behind."""
    writer = prepare(refusal, spark, kafka, topics, checkpoint)
    with pytest.raises(IllegalArgumentException) as caught:
        writer.start()
    assert caught.value.getCondition() == refusal.condition
    assert "real-time mode" in str(caught.value)
    assert spark.streams.active == []
    assert not Path(checkpoint).exists()


@pytest.mark.parametrize("refusal", BEFORE_THE_FIRST_TASK, ids=name_of)
def test_a_query_fails_before_its_first_task(
    refusal: Refusal,
    spark: SparkSession,
    kafka: Kafka,
    topics: tuple[str, str, str],
    checkpoint: str,
    recorder: TaskRecorder,
) -> None:
    """The query ends with the refusal; none of its tasks ran, nothing was written, nothing counts as read."""
    query = prepare(refusal, spark, kafka, topics, checkpoint).start()
    condition, message = failure_of(query)
    assert condition == refusal.condition
    assert "nothing was read or written" in message
    assert recorder.tasks(query.id) == []
    assert kafka.read(topics[2]) == []
    assert not list(Path(checkpoint, "offsets").glob("[0-9]*"))


def test_every_refusal_of_the_table_is_provoked_here() -> None:
    provoked = {refusal.condition for refusal in (*IN_START, *BEFORE_THE_FIRST_TASK)}
    refused = {rule.condition for rule in load_rules() if rule.headrace is Verdict.NO}
    assert provoked - WITHOUT_RULE == refused


def test_the_same_queries_are_not_touched_in_micro_batch_mode(
    spark: SparkSession,
    kafka: Kafka,
    topics: tuple[str, str, str],
    checkpoint: str,
    set_conf: Callable[[str, str], None],
) -> None:
    """The guard is about real-time queries only: what it refuses there runs here."""
    set_conf("spark.sql.shuffle.partitions", "2")
    complete = next(refusal for refusal in IN_START if refusal.name == "complete mode")
    run_to_end(prepare(complete, spark, kafka, (topics[0], topics[1], kafka.topic("micro")), checkpoint))
