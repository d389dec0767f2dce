# SPDX-License-Identifier: Apache-2.0
"""Runs a shape in either mode; shared by the tests and the program that runs them on a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from tests.integration.modes.orders import PARTITIONS
from tests.integration.modes.shapes import FIRST, SECOND, Shape
from tests.integration.streams import PATIENCE, read, run_to_end, write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import DataStreamWriter

    from headrace.testing import Kafka
    from tests.integration.modes.shapes import Result


@dataclass(frozen=True, slots=True)
class Inputs:
    """Two topics with the orders of the table."""

    kafka: Kafka
    first: str
    second: str

    @classmethod
    def fill(cls, kafka: Kafka) -> Self:
        """Makes the topics."""
        inputs = cls(kafka, kafka.topic("first", partitions=PARTITIONS), kafka.topic("second", partitions=PARTITIONS))
        kafka.produce(inputs.first, (order.as_record() for order in FIRST))
        kafka.produce(inputs.second, (order.as_record() for order in SECOND))
        return inputs

    def writer(self, spark: SparkSession, shape: Shape, topic: str, checkpoint: str) -> DataStreamWriter:
        """Prepares the shape's query."""
        first, second = (read(spark, self.kafka.bootstrap, name) for name in (self.first, self.second))
        rows = shape.build(first, second)
        return write(rows, self.kafka.bootstrap, topic, checkpoint).outputMode("update")


def run_micro_batch(spark: SparkSession, shape: Shape, inputs: Inputs, checkpoint: str) -> Result:
    """Returns what the shape makes of the inputs in micro-batch mode."""
    topic = inputs.kafka.topic("micro", partitions=2 * PARTITIONS)
    run_to_end(inputs.writer(spark, shape, topic, checkpoint))
    return shape.result_of(inputs.kafka.read(topic))


def run_real_time(spark: SparkSession, shape: Shape, inputs: Inputs, checkpoint: str) -> Result:
    """Returns what the shape makes of the inputs within one epoch of real-time mode."""
    topic = inputs.kafka.topic("real-time", partitions=2 * PARTITIONS)
    expected = shape.expected_result()
    query = inputs.writer(spark, shape, topic, checkpoint).trigger(realTime="5 minutes").start()
    try:
        inputs.kafka.read_until(topic, lambda records: shape.result_of(records) == expected, timeout=PATIENCE)
    finally:
        query.stop()
    # Read again: more may have come than was expected.
    return shape.result_of(inputs.kafka.read(topic))
