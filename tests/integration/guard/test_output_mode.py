# SPDX-License-Identifier: Apache-2.0
"""A real-time query without an output mode, as articles show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import IllegalArgumentException

from tests.integration.probes import jvm_class
from tests.integration.streams import PATIENCE, read, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from headrace.testing import Kafka


@pytest.fixture
def log(spark: SparkSession) -> Iterator[Any]:
    """What Spark logs during the test."""
    recorder = jvm_class(spark, "headrace.probe.LogRecorder")()
    yield recorder
    recorder.close()


@pytest.mark.parametrize(
    "build",
    [
        lambda rows: rows.selectExpr("key", "upper(cast(value as string)) value"),
        lambda rows: rows.repartition(2).select("key", "value"),
        lambda rows: rows.dropDuplicates(["value"]).select("key", "value"),
    ],
    ids=["stateless", "repartition", "dropDuplicates"],
)
def test_it_runs_where_append_and_update_write_the_same_rows(
    spark: SparkSession, kafka: Kafka, checkpoint: str, log: Any, build: Callable[[DataFrame], DataFrame]
) -> None:
    """The query runs, and the log says in which mode."""
    source, sink = kafka.topic(), kafka.topic()
    kafka.produce(source, ["A", "B"])
    rows = build(read(spark, kafka.bootstrap, source))
    write(rows, kafka.bootstrap, sink, checkpoint).trigger(realTime="5 minutes").start()
    found = kafka.read_until(sink, 2, timeout=PATIENCE)
    assert sorted(record.value or b"" for record in found) == [b"A", b"B"]
    assert 'runs in update mode, which writes the same rows here. Set .outputMode("update")' in log.text()


def test_nothing_is_said_to_whoever_sets_it(spark: SparkSession, kafka: Kafka, checkpoint: str, log: Any) -> None:
    source, sink = kafka.topic(), kafka.topic()
    kafka.produce(source, ["A"])
    rows = read(spark, kafka.bootstrap, source).select("value")
    write(rows, kafka.bootstrap, sink, checkpoint).outputMode("update").trigger(realTime="5 minutes").start()
    kafka.read_until(sink, 1, timeout=PATIENCE)
    assert "outputMode" not in log.text()


def test_an_aggregation_is_told_the_mode_it_needs(spark: SparkSession, kafka: Kafka, checkpoint: str) -> None:
    """Append would wait until a result is final; nobody should get that in silence."""
    counts = read(spark, kafka.bootstrap, kafka.topic()).groupBy("key").count()
    writer = write(counts.selectExpr("key", "cast(count as string) value"), kafka.bootstrap, kafka.topic(), checkpoint)
    with pytest.raises(IllegalArgumentException, match=r'\.outputMode\("update"\)') as caught:
        writer.trigger(realTime="5 minutes").start()
    assert caught.value.getCondition() == "OUTPUT_MODE"
