# SPDX-License-Identifier: Apache-2.0
"""The same shapes where driver and executors are processes of their own and records cross sockets between stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.children import run_program
from tests.integration.modes.shapes import SHAPES

if TYPE_CHECKING:
    from headrace.testing import Kafka

SECONDS = 400


@pytest.fixture(scope="module")
def outcomes(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What became of each shape; one application runs them all."""
    folder = str(tmp_path_factory.mktemp("cluster"))
    outcomes: dict[str, dict[str, Any]] = run_program("modes.on_cluster", kafka.bootstrap, folder, seconds=SECONDS - 10)
    return outcomes


@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize("mode", ["micro-batch", "real-time"])
@pytest.mark.parametrize("name", [shape.name for shape in SHAPES])
def test_on_two_executors(outcomes: dict[str, dict[str, Any]], name: str, mode: str) -> None:
    """Each shape gives the same on two executors as on one machine, in both modes, and both executors take part."""
    assert outcomes[name][mode] is None
    assert outcomes[name]["executors"] == ["0", "1"]
