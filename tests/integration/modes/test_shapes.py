# SPDX-License-Identifier: Apache-2.0
"""What Spark's real-time mode can do works here, and gives what micro-batch mode gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.modes.runs import Inputs, run_micro_batch, run_real_time
from tests.integration.modes.shapes import SHAPES, Shape

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from headrace.testing import Kafka


@pytest.fixture(scope="module")
def inputs(kafka: Kafka) -> Inputs:
    return Inputs.fill(kafka)


def name_of(shape: Shape) -> str:
    return shape.name


@pytest.mark.parametrize("shape", SHAPES, ids=name_of)
def test_in_micro_batch_mode(
    spark: SparkSession, shape: Shape, inputs: Inputs, checkpoint: str, set_conf: Callable[[str, str], None]
) -> None:
    """Each shape gives what plain Python computes."""
    set_conf("spark.sql.shuffle.partitions", "3")
    assert run_micro_batch(spark, shape, inputs, checkpoint) == shape.expected_result()


@pytest.mark.parametrize("shape", SHAPES, ids=name_of)
def test_in_real_time_mode(spark: SparkSession, shape: Shape, inputs: Inputs, checkpoint: str) -> None:
    """Each shape gives the same before its first epoch ends."""
    assert run_real_time(spark, shape, inputs, checkpoint) == shape.expected_result()
