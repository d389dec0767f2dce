# SPDX-License-Identifier: Apache-2.0
"""How a processor in Python asks the JVM for its state: what goes wrong there is told, and nothing piles up."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import StreamingQueryException

from headrace.engine.java import find_java
from headrace.local import Record
from headrace.testing import eventually
from tests.integration.probes import jvm_class
from tests.integration.python.processors import OUTPUT, Foresighted, Untimely, Walker
from tests.integration.python.test_processors import grouped, some
from tests.integration.streams import PATIENCE, run_micro_batches, start_real_time

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.integration.streams import Bench

NO_TIME = "STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_TIME_MODE"
ITERATOR = "org.apache.spark.sql.execution.streaming.state.StateStoreIterator"


@pytest.mark.usefixtures("few_partitions")
def test_an_error_in_a_call_has_sparks_reason(bench: Bench) -> None:
    """As in micro-batch mode, though nobody waits for that call, and Spark answers none of those behind it."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out")
    bench.kafka.produce(source, some(0, 20))
    rows = grouped(bench.read(source)).groupBy("key").transformWithState(Untimely(), OUTPUT, "update", "none")
    with pytest.raises(StreamingQueryException, match=NO_TIME):
        run_micro_batches(replace(bench, checkpoint=f"{bench.checkpoint}-micro").write(rows, sink))
    query = start_real_time(bench.write(rows, sink))
    eventually(lambda: query.exception() is not None, PATIENCE)
    message = str(query.exception())
    assert "[PYTHON_FUNCTION_FAILED]" in message
    assert NO_TIME in message


@pytest.mark.usefixtures("few_partitions")
def test_the_jvm_forgets_iterators_before_the_epoch_ends(bench: Bench) -> None:
    """Spark keeps each until its server for state ends: after a batch in micro-batch mode, here after an epoch."""
    source, sink = bench.kafka.topic("in"), bench.kafka.topic("out")
    rows = grouped(bench.read(source)).groupBy("key").transformWithState(Walker(), OUTPUT, "update", "none")
    query = start_real_time(bench.write(rows, sink))
    bench.kafka.produce(source, [Record(key=b"key", value=b"one")])
    (answer,) = bench.kafka.read_until(sink, 1, timeout=PATIENCE)
    assert answer.value == str(Walker.WALKS).encode()
    assert 0 < instances_of(ITERATOR, bench.spark) < Walker.WALKS / 2
    query.stop()


@pytest.mark.usefixtures("few_partitions")
def test_values_come_before_they_are_asked_for(bench: Bench) -> None:
    """From the first row of an epoch on: each question would cost as much as the row."""
    source, sink = bench.kafka.topic("in"), bench.kafka.topic("out")
    rows = grouped(bench.read(source)).groupBy("key").transformWithState(Foresighted(), OUTPUT, "update", "none")
    keys = 50
    bench.kafka.produce(source, [Record(key=f"key {number}".encode(), value=b"one") for number in range(keys)])
    query = start_real_time(bench.write(rows, sink))
    answers = bench.kafka.read_until(sink, keys, timeout=PATIENCE)
    assert {answer.value for answer in answers} == {b"True"}
    query.stop()


def instances_of(name: str, spark: SparkSession) -> int:
    """Counts the objects of a class that the JVM cannot let go of."""
    process = str(jvm_class(spark, "java.lang.ProcessHandle").current().pid())
    command = [str(find_java("jcmd")), process, "GC.class_histogram"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    # Of each class its rank, instances, bytes and name.
    return next((int(fields[1]) for fields in map(str.split, lines) if fields[3:] == [name]), 0)
