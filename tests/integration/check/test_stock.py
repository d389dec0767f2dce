# SPDX-License-Identifier: Apache-2.0
"""What a check calls impossible really is: Spark itself, without Headrace, fails with each of these queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.engine import ivy
from tests.integration.check.verdicts import CANNOT
from tests.integration.children import run_program
from tests.integration.modes.stock import CONNECTOR

if TYPE_CHECKING:
    from headrace.testing import Kafka

OWN_CHECKS = ("STREAMING_REAL_TIME_MODE", "STREAMING_OUTPUT_MODE", "_LEGACY_ERROR")
"""How the conditions begin with which Spark refuses a real-time query, or a streaming query in update mode."""


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_spark_fails_with_what_cannot_run(kafka: Kafka) -> None:
    topics = kafka.topic("first"), kafka.topic("second"), kafka.topic("output")
    kafka.produce(topics[0], ["read me"] * 10)
    jars = ",".join(str(path) for path in ivy.resolve(CONNECTOR))
    env = {"PYSPARK_SUBMIT_ARGS": f"--jars {jars} pyspark-shell"}
    found = run_program("check.stock_application", kafka.bootstrap, *topics, seconds=240, env=env)
    assert set(found) == set(CANNOT)
    assert {name: condition for name, condition in found.items() if not condition.startswith(OWN_CHECKS)} == {}
    assert kafka.read(topics[2]) == []
