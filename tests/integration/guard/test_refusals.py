# SPDX-License-Identifier: Apache-2.0
"""What real-time mode cannot run is refused before anything runs, by a name that programs can match."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import IllegalArgumentException

from headrace.advise.rules import Verdict, load_rules
from tests.integration.guard.refusals import BEFORE_THE_FIRST_TASK, IN_START, Refusal
from tests.integration.streams import failure_of, run_micro_batches, start_real_time

if TYPE_CHECKING:
    from pyspark.sql.streaming import DataStreamWriter

    from headrace.testing import Kafka
    from tests.integration.probes import TaskRecorder
    from tests.integration.streams import Bench

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


def prepare(refusal: Refusal, bench: Bench, topics: tuple[str, str, str]) -> DataStreamWriter:
    first, second, output = topics
    return refusal.finish(bench.write(refusal.build(bench.read(first), bench.read(second)), output))


@pytest.mark.parametrize("refusal", IN_START, ids=name_of)
def test_start_refuses(refusal: Refusal, bench: Bench, topics: tuple[str, str, str]) -> None:
    """`start()` raises, and leaves no query and no checkpoint behind."""
    writer = prepare(refusal, bench, topics)
    with pytest.raises(IllegalArgumentException) as caught:
        start_real_time(writer)
    assert caught.value.getCondition() == refusal.condition
    assert "real-time mode" in str(caught.value)
    assert bench.spark.streams.active == []
    assert not Path(bench.checkpoint).exists()


@pytest.mark.parametrize("refusal", BEFORE_THE_FIRST_TASK, ids=name_of)
def test_a_query_fails_before_its_first_task(
    refusal: Refusal, bench: Bench, topics: tuple[str, str, str], recorder: TaskRecorder
) -> None:
    """The query ends with the refusal; none of its tasks ran, nothing was written, nothing counts as read."""
    query = start_real_time(prepare(refusal, bench, topics))
    condition, message = failure_of(query)
    assert condition == refusal.condition
    assert "nothing was read or written" in message
    assert recorder.tasks(query.id) == []
    assert bench.kafka.read(topics[2]) == []
    assert not list(Path(bench.checkpoint, "offsets").glob("[0-9]*"))


def test_every_refusal_of_the_table_is_provoked_here() -> None:
    provoked = {refusal.condition for refusal in (*IN_START, *BEFORE_THE_FIRST_TASK)}
    refused = {rule.condition for rule in load_rules() if rule.headrace is Verdict.NO}
    assert provoked - WITHOUT_RULE == refused


@pytest.mark.usefixtures("few_partitions")
def test_micro_batch_queries_are_left_alone(bench: Bench, topics: tuple[str, str, str]) -> None:
    """The guard is about real-time queries only: what it refuses there runs here."""
    complete = next(refusal for refusal in IN_START if refusal.name == "complete mode")
    run_micro_batches(prepare(complete, bench, (*topics[:2], bench.kafka.topic("micro"))))
