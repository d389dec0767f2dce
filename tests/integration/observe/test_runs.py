# SPDX-License-Identifier: Apache-2.0
"""What the board tells of a run beside its latency: how it fares, what it reads, commits and sends."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

from headrace.engine import gateway
from headrace.local import Record
from headrace.testing import eventually
from tests.integration.observe.shapes import counted, in_python, stateless
from tests.integration.observe.watching import await_observed, count_of, observed
from tests.integration.python.processors import OUTPUT, Alarm
from tests.integration.streams import PATIENCE, await_epochs, start_real_time

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

    from tests.integration.streams import Bench

COUNT = 60
RECORDS = [Record(key=f"key {number % 5}".encode(), value=b"value") for number in range(COUNT)]


class LateAlarm(Alarm):
    """Answers when the batch of the row is surely done: a timer that fires in it would count with its rows."""

    DELAY_MS = 2000


def is_running(found: dict[str, Any]) -> bool:
    return bool(found["state"] == "running")


def start(bench: Bench, epoch: str = "5 minutes") -> StreamingQuery:
    """Starts a stateless query that has read and written all records."""
    source = bench.kafka.topic("source", partitions=3)
    query = start_real_time(bench.write(stateless(bench.read(source)), bench.kafka.topic("sink")), epoch)
    bench.kafka.produce(source, RECORDS)
    await_observed(query, lambda found: count_of(found, "end_to_end") == COUNT)
    return query


def test_a_query_that_runs_and_is_stopped(bench: Bench) -> None:
    query = start(bench)
    found = await_observed(query, is_running)
    assert found["id"] == query.id
    assert found["mode"] == "real-time"
    assert found["epoch"]["number"] == 0
    assert found["epoch"]["interval_ms"] == 300_000
    query.stop()
    found = await_observed(query, lambda found: found["state"] == "stopped")
    assert found["ended_ms"] >= found["started_ms"]
    assert found["error"] is None
    assert count_of(found, "end_to_end") == COUNT


def test_a_query_that_fails_keeps_its_error(bench: Bench) -> None:
    source = bench.kafka.topic("source")
    broken = F.udf(lambda _: 1 / 0, "string")
    rows = bench.read(source).select("key", broken("value").alias("value"))
    query = start_real_time(bench.write(rows, bench.kafka.topic("sink")))
    bench.kafka.produce(source, ["one"])
    found = await_observed(query, lambda found: found["state"] == "failed")
    assert found["error"]["condition"] == "PYTHON_FUNCTION_FAILED"
    assert "ZeroDivisionError" in found["error"]["message"]
    assert "start the query again" in found["error"]["message"]


def test_partitions_lag_and_tail(bench: Bench) -> None:
    found = await_observed(start(bench), lambda found: found["lag"] == {"records": 0, "seconds": 0.0})
    assert [partition["partition"] for partition in found["partitions"]] == [0, 1, 2]
    assert sum(partition["count"] for partition in found["partitions"]) == COUNT
    assert all(partition["executor"] == "driver" for partition in found["partitions"])
    assert all(partition["p99"] is not None for partition in found["partitions"] if partition["count"])
    assert found["tail"]
    assert {record["value"] for record in found["tail"]} == {"VALUE"}


def test_the_rate_is_that_of_whole_seconds(bench: Bench) -> None:
    """All records came within the last ten seconds, or sooner; the rate times the seconds is their number."""
    found = await_observed(start(bench), lambda found: found["rate"]["in"] > 0)
    assert found["rate"]["in"] * 10 >= COUNT * 0.99


def test_boundaries_and_commits_of_epochs(bench: Bench) -> None:
    source = bench.kafka.topic("source")
    query = start_real_time(bench.write(counted(bench.read(source)), bench.kafka.topic("sink")), "1 second")
    await_epochs(query, 3)
    found = await_observed(query, lambda found: len(found["boundaries"]) > 1 and bool(found["commits"]["times_ms"]))
    assert all(boundary["gap_ms"] > 0 for boundary in found["boundaries"])
    assert found["commits"]["age_ms"] >= 0
    assert found["commits"]["interval_ms"] == 1000


def test_stages_say_what_they_are_made_of(bench: Bench) -> None:
    source = bench.kafka.topic("source", partitions=3)
    query = start_real_time(bench.write(counted(bench.read(source)), bench.kafka.topic("sink")))
    bench.kafka.produce(source, RECORDS)
    found = await_observed(query, lambda found: count_of(found, "end_to_end") == COUNT)
    first, second = found["stages"]
    assert source in first["name"]
    assert (first["feeds"], second["feeds"]) == ([1], [])
    assert (first["tasks"], second["tasks"]) == (3, 4)
    assert any("Aggregate" in operator for operator in second["operators"])
    assert first["processing"]["count"] == second["processing"]["count"] == COUNT


def test_workers_are_known_by_their_process(bench: Bench) -> None:
    source = bench.kafka.topic("source", partitions=1)
    query = start_real_time(bench.write(in_python(bench.read(source)), bench.kafka.topic("sink")))
    bench.kafka.produce(source, RECORDS)

    def has_answered(found: dict[str, Any]) -> bool:
        # Rows count when they are sent, batches when they are answered.
        return any(worker["rows"] == COUNT and worker["batch_p50"] is not None for worker in found["python"])

    found = await_observed(query, has_answered)
    (worker,) = found["python"]
    assert worker["functions"] == ["<lambda>"]
    assert worker["alive"]
    assert worker["pid"] > 0
    assert worker["memory_mb"] > 1
    assert worker["batch_p50"] > 0


def test_rows_of_timers_are_counted_apart(bench: Bench) -> None:
    source, sink = bench.kafka.topic("source", partitions=1), bench.kafka.topic("sink")
    texts = bench.read(source).select(
        F.col("key").cast("string").alias("key"), F.col("value").cast("string").alias("text")
    )
    alarms = texts.groupBy("key").transformWithState(LateAlarm(), OUTPUT, "Update", "ProcessingTime")
    query = start_real_time(bench.write(alarms, sink))
    bench.kafka.produce(source, [Record(key=b"a", value=b"first")])
    bench.kafka.read_until(sink, 1, timeout=PATIENCE)
    total = await_observed(query, lambda found: count_of(found, "delivery") == 1)["latency"]["total"]
    assert (total["timers"]["count"], total["untold"]["count"], total["end_to_end"]) == (1, 0, None)
    assert total["queueing"]["count"] == 1


def test_progress_has_the_latency_of_the_epoch(bench: Bench) -> None:
    source = bench.kafka.topic("source")
    query = start_real_time(bench.write(counted(bench.read(source)), bench.kafka.topic("sink")), "2 seconds")
    bench.kafka.produce(source, RECORDS)

    def measured() -> list[Any]:
        return [progress for progress in query.recentProgress if "e2eLatencyMs" in (progress.sink.metrics or {})]

    eventually(lambda: bool(measured()), PATIENCE)
    progress = measured()[0]
    texts = [progress.sources[0].metrics["sourceQueuingLatencyMs"], progress.sink.metrics["processingLatencyMs"]]
    for text in [*texts, progress.sink.metrics["e2eLatencyMs"]]:
        figures = json.loads(text)
        assert list(figures) == ["P0", "P50", "P90", "P95", "P99"]
        assert list(figures.values()) == sorted(figures.values())


def test_the_application_and_its_jvm(bench: Bench) -> None:
    start(bench)
    found = json.loads(gateway.observed())
    assert found["application"]["name"] == "tests"
    (driver,) = [executor for executor in found["executors"] if executor["id"] == "driver"]
    assert 0 < driver["heap_used_mb"] <= driver["heap_max_mb"]


@pytest.mark.parametrize("mode", ["real-time", "micro-batch"])
def test_a_query_is_known_from_its_start(bench: Bench, mode: str) -> None:
    source = bench.kafka.topic("source")
    writer = bench.write(stateless(bench.read(source)), bench.kafka.topic("sink"))
    query = start_real_time(writer) if mode == "real-time" else writer.trigger(processingTime="0 seconds").start()
    eventually(lambda: observed(query) is not None, PATIENCE)
    found = observed(query)
    assert found is not None
    assert found["mode"] == mode
