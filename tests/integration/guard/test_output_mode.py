# SPDX-License-Identifier: Apache-2.0
"""A real-time query without an output mode, as articles show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import IllegalArgumentException

from tests.integration.streams import PATIENCE, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from tests.integration.probes import LogRecorder
    from tests.integration.streams import Bench


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
    bench: Bench, log: LogRecorder, build: Callable[[DataFrame], DataFrame]
) -> None:
    """The query runs, and the log says in which mode."""
    source, sink = bench.kafka.topic(), bench.kafka.topic()
    bench.kafka.produce(source, ["A", "B"])
    start_real_time(bench.write(build(bench.read(source)), sink, mode=None))
    found = bench.kafka.read_until(sink, 2, timeout=PATIENCE)
    assert sorted(record.value or b"" for record in found) == [b"A", b"B"]
    assert 'runs in update mode, which writes the same rows here. Set .outputMode("update")' in log.text()


def test_nothing_is_said_to_whoever_sets_it(bench: Bench, log: LogRecorder) -> None:
    source, sink = bench.kafka.topic(), bench.kafka.topic()
    bench.kafka.produce(source, ["A"])
    start_real_time(bench.write(bench.read(source).select("value"), sink))
    bench.kafka.read_until(sink, 1, timeout=PATIENCE)
    assert "outputMode" not in log.text()


def test_an_aggregation_is_told_the_mode_it_needs(bench: Bench) -> None:
    """Append would wait until a result is final; nobody should get that in silence."""
    counts = bench.read(bench.kafka.topic()).groupBy("key").count()
    writer = bench.write(counts.selectExpr("key", "cast(count as string) value"), bench.kafka.topic(), mode=None)
    with pytest.raises(IllegalArgumentException, match=r'\.outputMode\("update"\)') as caught:
        start_real_time(writer)
    assert caught.value.getCondition() == "OUTPUT_MODE"
