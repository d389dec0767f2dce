# SPDX-License-Identifier: Apache-2.0
"""The same shapes where driver and executors are processes of their own and records cross sockets between stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.children import run_program
from tests.integration.modes.on_cluster import EPOCHS, MODES, VALUES, modes_of
from tests.integration.modes.shapes import SHAPES

if TYPE_CHECKING:
    from headrace.testing import Kafka

SECONDS = 600


@pytest.fixture(scope="module")
def outcomes(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What became of each shape; one application runs them all."""
    folder = str(tmp_path_factory.mktemp("cluster"))
    outcomes: dict[str, Any] = run_program("modes.on_cluster", kafka.bootstrap, folder, seconds=SECONDS - 10)
    return outcomes


@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize(
    ("name", "mode"),
    [(shape.name, mode) for number, shape in enumerate(SHAPES) for mode, _ in MODES[: modes_of(number)]],
)
def test_on_two_executors(outcomes: dict[str, Any], name: str, mode: str) -> None:
    """Each shape gives the same on two executors as on one machine, and both executors take part."""
    shape = outcomes["shapes"][name]
    assert shape[mode] is None
    # Spark starts another where one could not be started, with a number of its own.
    assert len(shape["executors"]) == 2


@pytest.mark.timeout(SECONDS)
def test_state_is_kept_over_epochs_and_a_restart_on_two_executors(outcomes: dict[str, Any]) -> None:
    """Each epoch, and the query that is started again, counts on from where the last one was committed."""
    assert outcomes["counted"] == dict.fromkeys(VALUES, str(EPOCHS))


@pytest.mark.timeout(SECONDS)
def test_executors_write_local_files_without_starting_processes(outcomes: dict[str, Any]) -> None:
    """Their local file system is ours, as the driver's is."""
    assert set(outcomes["files"]) == {"headrace.checkpoint.LocalFiles"}
