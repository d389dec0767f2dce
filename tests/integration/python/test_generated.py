# SPDX-License-Identifier: Apache-2.0
"""Functions and values that nobody thought of: real-time mode answers what micro-batch mode answers, in order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings

from tests.integration.python.generated import Table, tables
from tests.integration.streams import PATIENCE, run_micro_batches, start_real_time

if TYPE_CHECKING:
    from tests.integration.streams import Bench

# The function has no hints: it takes any type.
pytestmark = pytest.mark.filterwarnings("ignore:In Python 3.6")
# One that fails is told as it is: to make it smaller would start two queries for each try.
unhurried = settings(
    deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False
)


def answers_agree(bench: Bench, table: Table) -> None:
    source, micro, real = (bench.kafka.topic(name, partitions=1) for name in ("rows", "micro", "real"))
    bench.kafka.produce(source, list(table.rows))
    run_micro_batches(
        replace(bench, checkpoint=f"{bench.checkpoint}-{micro}").write(table.answers(bench.read(source)), micro)
    )
    expected = bench.kafka.values(micro)
    assert len(expected) == len(table.rows)
    own = replace(bench, checkpoint=f"{bench.checkpoint}-{real}")
    query = start_real_time(own.write(table.answers(bench.read(source)), real))
    try:
        bench.kafka.read_until(real, len(expected), timeout=PATIENCE)
        assert bench.kafka.values(real) == expected
    finally:
        query.stop()


@given(table=tables())
@settings(unhurried, max_examples=5)
def test_what_is_made_up_is_answered_alike(bench: Bench, table: Table) -> None:
    answers_agree(bench, table)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@given(table=tables())
@settings(unhurried, max_examples=150)
def test_much_that_is_made_up_is_answered_alike(bench: Bench, table: Table) -> None:
    answers_agree(bench, table)
