# SPDX-License-Identifier: Apache-2.0
"""The position that travels with the rows of a task is, at the sink, that of the very record a row was made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from headrace.testing import eventually
from tests.integration.modes.orders import PARTITIONS, orders
from tests.integration.probes import jvm_class
from tests.integration.streams import LONG, PATIENCE, await_epochs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

    from tests.integration.streams import Bench

ORDERS = orders(0, 400)
ORIGIN = ("topic", "partition", "offset", "unix_millis(timestamp) created")


@dataclass(frozen=True, slots=True)
class Rig:
    """A topic, and a sink that compares what a row says of its origin with what its task's trail says."""

    bench: Bench
    source: str
    recorder: Any

    def start(self, build: Callable[[DataFrame], DataFrame], epoch: str = LONG) -> StreamingQuery:
        """Starts a real-time query from the topic to the sink, which PySpark itself cannot name."""
        writer: Any = build(self.bench.read(self.source))._jdf.writeStream().foreach(self.recorder())
        trigger = jvm_class(self.bench.spark, "org.apache.spark.sql.streaming.Trigger").RealTime(epoch)
        writer.outputMode("update").option("checkpointLocation", self.bench.checkpoint).trigger(trigger).start()
        return self.bench.spark.streams.active[0]

    def await_rows(self, count: int) -> None:
        """Waits until so many rows have come to the sink."""
        eventually(lambda: self.recorder.count() >= count, PATIENCE)
        assert self.recorder.count() == count

    def wrong(self) -> list[str]:
        """The rows whose trail tells another origin or an impossible time of arrival."""
        return [line for line in self.recorder.lines() if not line.endswith("\ttrue\ttrue")]


@pytest.fixture
def rig(bench: Bench) -> Iterator[Rig]:
    topic = bench.kafka.topic("orders", partitions=PARTITIONS)
    bench.kafka.produce(topic, (order.as_record() for order in ORDERS))
    recorder = jvm_class(bench.spark, "headrace.probe.PositionRecorder")
    recorder.reset()
    yield Rig(bench, topic, recorder)
    recorder.release()


def origins(rows: DataFrame) -> DataFrame:
    """Every record gives one row."""
    return rows.selectExpr(*ORIGIN)


def some_origins(rows: DataFrame) -> DataFrame:
    """Every record gives none to three rows, some of which are taken out again."""
    return rows.where("offset % 5 <> 0").selectExpr(*ORIGIN, "explode(sequence(1, 1 + offset % 3)) n").where("n <> 2")


def count_of_some() -> int:
    """How many rows that makes."""
    sizes = [sum(order.partition == partition for order in ORDERS) for partition in range(PARTITIONS)]
    offsets = [offset for size in sizes for offset in range(size) if offset % 5 != 0]
    return sum(n != 2 for offset in offsets for n in range(1, 2 + offset % 3))


SHAPES = pytest.mark.parametrize(
    ("build", "count"),
    [(origins, len(ORDERS)), (some_origins, count_of_some())],
    ids=["projection", "filter and explode"],
)


@SHAPES
def test_every_row_has_the_position_of_its_record(
    rig: Rig, build: Callable[[DataFrame], DataFrame], count: int
) -> None:
    rig.start(build)
    rig.await_rows(count)
    assert rig.wrong() == []


@SHAPES
def test_the_position_stays_with_its_row_behind_a_read_ahead(
    rig: Rig, set_conf: Callable[[str, str], None], build: Callable[[DataFrame], DataFrame], count: int
) -> None:
    """An operator has read a queue full of rows while the sink stood still at the first."""
    set_conf("spark.headrace.probe.readAhead", "trail")
    rig.recorder.hold()
    rig.start(build)
    eventually(lambda: rig.recorder.furthestAhead() > 50, PATIENCE)
    rig.recorder.release()
    rig.await_rows(count)
    assert rig.wrong() == []


def test_a_read_ahead_without_a_trail_of_its_own_would_be_noticed(
    rig: Rig, set_conf: Callable[[str, str], None]
) -> None:
    """The same operator, without what the trail asks of it: proves that the tests above can fail."""
    set_conf("spark.headrace.probe.readAhead", "blind")
    rig.recorder.hold()
    rig.start(origins)
    eventually(lambda: rig.recorder.furthestAhead() > 50, PATIENCE)
    rig.recorder.release()
    rig.await_rows(len(ORDERS))
    assert len(rig.wrong()) > 50


@pytest.mark.parametrize("read_ahead", ["off", "trail"])
def test_positions_hold_over_many_epochs(rig: Rig, set_conf: Callable[[str, str], None], read_ahead: str) -> None:
    """Records fetched in one epoch and handed on in the next keep their position and their time of arrival."""
    set_conf("spark.headrace.probe.readAhead", read_ahead)
    query = rig.start(origins, "1 second")
    for part in range(1, 4):
        await_epochs(query, 1)
        rig.bench.kafka.produce(rig.source, (order.as_record() for order in orders(part * 1000, 100)))
    rig.await_rows(len(ORDERS) + 300)
    assert rig.wrong() == []
