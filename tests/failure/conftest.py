# SPDX-License-Identifier: Apache-2.0
"""Tests that end processes; what they end runs outside of this one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# They share steps with the integration tests: `from tests.integration...`.
sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.failure.copies import Copies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.testing import Kafka


@pytest.fixture
def copies(kafka: Kafka, tmp_path: Path) -> Iterator[Copies]:
    made = Copies(kafka, tmp_path)
    yield made
    made.end()
