# SPDX-License-Identifier: Apache-2.0
"""What SIGTERM does to the queries of an application: it drains all, of whatever session, at the same time."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from headrace.engine import gateway
from headrace.run.drain import drain_all
from headrace.testing import eventually
from tests.integration.streams import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery


def start(session: SparkSession, each_batch: Callable[[DataFrame, int], None]) -> StreamingQuery:
    return session.readStream.format("rate").load().writeStream.foreachBatch(each_batch).start()


@pytest.fixture
def sessions(spark: SparkSession) -> Iterator[tuple[SparkSession, SparkSession]]:
    """The first session, and another one."""
    both = spark, spark.newSession()
    yield both
    for session in both:
        for query in session.streams.active:
            query.stop()


def test_a_query_that_takes_long_keeps_none_of_another_session_from_being_drained(
    sessions: tuple[SparkSession, SparkSession], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def take_long(_: DataFrame, __: int) -> None:
        begun.set()
        may_end.wait(PATIENCE.total_seconds())

    slow, quick = start(sessions[0], take_long), start(sessions[1], lambda *_: None)
    assert begun.wait(PATIENCE.total_seconds())
    found = {query.runId: query for query in gateway.active_queries()}
    assert found.keys() == {slow.runId, quick.runId}
    monkeypatch.setattr(gateway, "active_queries", lambda: [found[slow.runId], found[quick.runId]])
    draining = threading.Thread(target=drain_all)
    draining.start()
    eventually(lambda: not quick.isActive, PATIENCE)
    assert slow.isActive
    may_end.set()
    draining.join(PATIENCE.total_seconds())
    assert [query.isActive for query in (slow, quick)] == [False, False]
    assert slow.exception() is None
