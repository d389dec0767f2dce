# SPDX-License-Identifier: Apache-2.0
"""What Spark's real-time mode can do works here, and gives what micro-batch mode gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.modes.runs import Inputs, run_in_micro_batches, run_in_real_time
from tests.integration.modes.shapes import SHAPES, Shape

if TYPE_CHECKING:
    from headrace.testing import Kafka
    from tests.integration.streams import Bench


@pytest.fixture(scope="module")
def inputs(kafka: Kafka) -> Inputs:
    return Inputs.fill(kafka)


def name_of(shape: Shape) -> str:
    return shape.name


@pytest.mark.usefixtures("few_partitions")
@pytest.mark.parametrize("shape", SHAPES, ids=name_of)
def test_in_micro_batch_mode(bench: Bench, shape: Shape, inputs: Inputs) -> None:
    """Each shape gives what plain Python computes."""
    assert run_in_micro_batches(bench, shape, inputs) == shape.expected_result()


@pytest.mark.parametrize("shape", SHAPES, ids=name_of)
def test_in_real_time_mode(bench: Bench, shape: Shape, inputs: Inputs) -> None:
    """Each shape gives the same before its first epoch ends."""
    assert run_in_real_time(bench, shape, inputs) == shape.expected_result()
