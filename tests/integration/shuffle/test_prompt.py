# SPDX-License-Identifier: Apache-2.0
"""A row crosses a shuffle at once when its task has no further one: nothing waits for the shuffle's timer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.children import run_program
from tests.integration.shuffle.without_timer import COUNT

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.testing import Kafka

SECONDS = 120


@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize(
    ("observe", "way"),
    [("true", "direct"), ("false", "direct"), ("true", "python"), ("true", "shuffled before")],
    ids=["measured", "not measured", "through Python", "through another shuffle"],
)
def test_each_record_crosses_a_shuffle_without_a_timer(kafka: Kafka, tmp_path: Path, observe: str, way: str) -> None:
    """Nor a further record, nor the end of the epoch."""
    checkpoint = str(tmp_path / "checkpoint")
    values = run_program("shuffle.without_timer", kafka.bootstrap, checkpoint, observe, way, seconds=SECONDS - 10)
    assert values == [str(number) for number in range(1, COUNT + 1)]
