# SPDX-License-Identifier: Apache-2.0
"""Runs a shape in either mode; shared by the tests and the program that runs them on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from tests.integration.modes.orders import PARTITIONS
from tests.integration.modes.shapes import FIRST, SECOND, Shape
from tests.integration.streams import PATIENCE, Bench, run_micro_batches, start_real_time

if TYPE_CHECKING:
    from pyspark.sql.streaming import DataStreamWriter

    from headrace.testing import Kafka
    from tests.integration.modes.shapes import Result


@dataclass(frozen=True, slots=True)
class Inputs:
    """Two topics with the orders of the table."""

    first: str
    second: str

    @classmethod
    def fill(cls, kafka: Kafka) -> Self:
        """Makes the topics."""
        inputs = cls(kafka.topic("first", partitions=PARTITIONS), kafka.topic("second", partitions=PARTITIONS))
        kafka.produce(inputs.first, (order.as_record() for order in FIRST))
        kafka.produce(inputs.second, (order.as_record() for order in SECOND))
        return inputs

    def writer(self, bench: Bench, shape: Shape, topic: str) -> DataStreamWriter:
        """Prepares the shape's query."""
        return bench.write(shape.build(bench.read(self.first), bench.read(self.second)), topic)


def run_in_micro_batches(bench: Bench, shape: Shape, inputs: Inputs) -> Result:
    """Returns what the shape makes of the inputs in micro-batch mode."""
    topic = bench.kafka.topic("micro", partitions=2 * PARTITIONS)
    run_micro_batches(inputs.writer(bench, shape, topic))
    return shape.result_of(bench.kafka.read(topic))


def run_in_real_time(bench: Bench, shape: Shape, inputs: Inputs) -> Result:
    """Returns what the shape makes of the inputs within one epoch of real-time mode."""
    topic = bench.kafka.topic("real-time", partitions=2 * PARTITIONS)
    expected = shape.expected_result()
    query = start_real_time(inputs.writer(bench, shape, topic))
    try:
        bench.kafka.read_until(topic, lambda records: shape.result_of(records) == expected, timeout=PATIENCE)
    finally:
        query.stop()
    # Read again: more may have come than was expected.
    return shape.result_of(bench.kafka.read(topic))
