# SPDX-License-Identifier: Apache-2.0
"""A clock that is set back or forward by an hour while a query runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.testing import eventually
from tests.integration.probes import jvm_class
from tests.integration.recorded import PATIENCE, offset_recorded
from tests.integration.streams import await_epochs, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.integration.streams import Bench

HOUR_MS = 3_600_000
FIRST, MORE = [f"first {number}" for number in range(50)], [f"more {number}" for number in range(50)]
both_ways = pytest.mark.parametrize("ms", [-HOUR_MS, HOUR_MS], ids=["back", "forward"])


@pytest.fixture
def step(bench: Bench) -> Iterator[Callable[[int], None]]:
    """Sets the clock by which Spark and the engine tell the time in a real-time query."""
    clock = jvm_class(bench.spark, "headrace.probe.SteppedClock")
    yield clock.step
    clock.step(0)


@both_ways
@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_progress_goes_on(
    bench: Bench, step: Callable[[int], None], set_conf: Callable[[str, str], None], *, delivery: str, ms: int
) -> None:
    """Inside an epoch, and where the clock ends the epoch, in the next one."""
    set_conf("spark.headrace.realtime.epoch", "10m")
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    copies = bench.write(bench.read(source).select("value"), sink)
    start_real_time(copies.option("commitInterval", "50ms").option("delivery", delivery))

    def feed(values: list[str], offset: int) -> None:
        bench.kafka.produce(source, values)
        eventually(lambda: offset_recorded(bench.kafka, bench.checkpoint, source) >= offset, PATIENCE)

    feed(FIRST, len(FIRST))
    step(ms)
    feed(MORE, len(FIRST) + len(MORE))
    assert bench.kafka.values(sink, committed=True) == [value.encode() for value in FIRST + MORE]


@both_ways
def test_epochs_with_state_go_on(bench: Bench, step: Callable[[int], None], *, ms: int) -> None:
    """Nothing but their end commits anything."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    counts = bench.read(source).groupBy("value").count().selectExpr("value key", "cast(count as string) value")
    query = start_real_time(bench.write(counts, sink), "1 second")
    bench.kafka.produce(source, ["a"])
    await_epochs(query, 1)
    step(ms)
    await_epochs(query, 2)
    bench.kafka.produce(source, ["a"])
    bench.kafka.read_until(sink, lambda records: len(records) == 2)
    assert bench.kafka.values(sink) == [b"1", b"2"]
