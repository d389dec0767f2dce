# SPDX-License-Identifier: Apache-2.0
"""The board hears of executors that are processes of their own, while an epoch runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.children import run_program
from tests.integration.observe.on_cluster import COUNT
from tests.integration.observe.watching import PARTS

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.testing import Kafka

SECONDS = 240


@pytest.mark.timeout(SECONDS)
def test_each_record_is_measured_once_on_two_executors(kafka: Kafka, tmp_path: Path) -> None:
    outcome = run_program("observe.on_cluster", kafka.bootstrap, str(tmp_path / "checkpoint"), seconds=SECONDS - 10)
    found = outcome["query"]
    assert {part: found["latency"]["total"][part]["count"] for part in PARTS} == dict.fromkeys(PARTS, COUNT)
    assert {partition["executor"] for partition in found["partitions"]} == {"0", "1"}
    assert {"driver", "0", "1"} <= set(outcome["executors"])
    assert all(worker["alive"] for worker in found["python"])
