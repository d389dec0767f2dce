# SPDX-License-Identifier: Apache-2.0
"""What the engine measures, as programs read it."""

from __future__ import annotations

import uuid
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

import headrace
from headrace.dashboard.client import Client
from headrace.errors import QueryUnknownError
from headrace.testing import eventually
from tests.integration.streams import PATIENCE, Bench, start_real_time

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery


def count_of(query: StreamingQuery) -> int:
    found = headrace.latency(query).total.end_to_end
    return 0 if found is None else found.count


def test_the_latency_of_a_query_is_known_from_its_start_and_after_its_end(bench: Bench) -> None:
    source, sink = bench.kafka.topic("in"), bench.kafka.topic("out")
    query = start_real_time(bench.write(bench.read(source).select("key", "value"), sink))
    first = headrace.latency(query)
    assert (first.recent.end_to_end, first.total.queueing) == (None, None)
    bench.kafka.produce(source, [str(number) for number in range(20)])
    eventually(lambda: count_of(query) == 20, PATIENCE)
    recent = headrace.latency(query).recent
    assert recent.end_to_end is not None
    assert recent.end_to_end.p50_ms <= recent.end_to_end.p99_ms <= recent.end_to_end.max_ms
    assert headrace.latency(query).creation == "known"
    query.stop()
    assert count_of(query) == 20


def test_a_query_that_the_engine_never_saw_is_an_error(bench: Bench) -> None:
    del bench
    other = SimpleNamespace(runId=uuid.uuid4(), id=uuid.uuid4(), name="other", isActive=False)
    with pytest.raises(QueryUnknownError, match="other"):
        headrace.latency(cast("StreamingQuery", other))


def test_a_program_can_serve_the_dashboard_itself(bench: Bench) -> None:
    source, sink = bench.kafka.topic("in"), bench.kafka.topic("out")
    query = start_real_time(bench.write(bench.read(source).select("key", "value"), sink).queryName("served"))
    client = Client.parse(headrace.serve_dashboard())
    eventually(lambda: str(query.runId) in {each.run for each in client.snapshot().queries}, PATIENCE)
