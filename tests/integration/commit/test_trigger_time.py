# SPDX-License-Identifier: Apache-2.0
"""The time that a query asks for, in epochs that are longer than its trigger says."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from headrace.testing import eventually
from tests.integration.streams import PATIENCE, run_micro_batches, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.integration.streams import Bench

TRIGGER_S = 1
# In one column each, as a query may have them: the same moment in three forms.
CLOCKS = "to_json(struct(unix_millis(current_timestamp()) AS ms, current_date() AS day, localtimestamp() AS here))"


@pytest.fixture(autouse=True)
def long_epochs(set_conf: Callable[[str, str], None]) -> None:
    set_conf("spark.headrace.realtime.epoch", "10m")


def told(bench: Bench, sink: str) -> list[dict[str, Any]]:
    return [json.loads(value or "") for value in bench.kafka.values(sink)]


def test_time_moves_on_with_the_trigger_inside_an_epoch(bench: Bench) -> None:
    """As if each interval were an epoch: every record of one has the same time."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    query = start_real_time(
        bench.write(bench.read(source).selectExpr(f"{CLOCKS} AS value"), sink), f"{TRIGGER_S} second"
    )

    def times() -> list[int]:
        bench.kafka.produce(source, ["now"])
        return [one["ms"] for one in told(bench, sink)]

    # The first epoch is about as long as the trigger says, and the second does not end during this test.
    eventually(lambda: len(set(times())) > 5, PATIENCE)
    assert query.lastProgress is None or query.lastProgress.batchId == 0
    seen = times()
    assert seen == sorted(seen)
    inside = sorted(set(seen))[-3:]
    assert {(later - earlier) % (TRIGGER_S * 1000) for earlier, later in itertools.pairwise(inside)} == {0}


def test_the_forms_of_a_time_are_those_of_micro_batches(bench: Bench) -> None:
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    rows = bench.read(source).selectExpr(f"{CLOCKS} AS value")
    bench.kafka.produce(source, ["in a batch"])
    run_micro_batches(bench.write(rows, sink))
    start_real_time(bench.write(rows, sink))
    bench.kafka.produce(source, ["at once"])
    eventually(lambda: len(bench.kafka.values(sink)) == 2, PATIENCE)
    batch, now = told(bench, sink)
    assert batch.keys() == now.keys()
    assert [len(batch[form]) for form in ("day", "here")] == [len(now[form]) for form in ("day", "here")]
    assert batch["ms"] < now["ms"]
