# SPDX-License-Identifier: Apache-2.0
"""What no line of our table is about: the check gives the condition with which Spark really refuses the query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException

import headrace
from tests.integration.guard.refusals import counts
from tests.integration.streams import failure_of, start_real_time

if TYPE_CHECKING:
    from tests.integration.streams import Bench


@pytest.fixture
def source(bench: Bench) -> str:
    return bench.kafka.topic("in")


@pytest.fixture
def sink(bench: Bench) -> str:
    return bench.kafka.topic("out")


def test_what_spark_alone_refuses_is_found_too(bench: Bench, source: str, sink: str) -> None:
    """Spark's own rules about output modes: no line of our table is about a count of counts."""
    writer = bench.write(counts(counts(bench.read(source)).selectExpr("value key")), sink)
    (found,) = headrace.check(writer).refused
    with pytest.raises(AnalysisException) as caught:
        start_real_time(writer)
    assert found.condition == caught.value.getCondition()


def test_the_same_stream_twice_is_found(bench: Bench, source: str, sink: str) -> None:
    rows = bench.read(source).select("key", "value")
    writer = bench.write(rows.union(rows), sink)
    (found,) = headrace.check(writer).conditions
    assert found == failure_of(start_real_time(writer))[0]


def test_a_trigger_that_is_too_short_is_found(bench: Bench, source: str, sink: str) -> None:
    writer = bench.write(bench.read(source).select("value"), sink)
    short = writer.trigger(realTime="10 milliseconds")  # type: ignore[call-overload] # PySpark's types lack it
    (found,) = headrace.check(short).conditions
    with pytest.raises(IllegalArgumentException) as caught:
        short.start()
    assert found == caught.value.getCondition()
