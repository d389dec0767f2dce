# SPDX-License-Identifier: Apache-2.0
"""Where the time goes: an event log, stacks and times of records, split into parts that add up."""

import json
from pathlib import Path
from typing import Any

import pytest
from breakdown import boundary, event_log, path, places, profile
from breakdown.boundary import PARTS

EPOCH_MS = 5200
DURATIONS_MS = {"latestOffset": 5, "getBatch": 1, "queryPlanning": 30, "walCommit": 20, "commitOffsets": 25}


def started_ms(number: int) -> int:
    """When the driver turned to an epoch."""
    return 1_800_000_000_000 + number * EPOCH_MS


def an_epoch(number: int) -> list[dict[str, Any]]:
    """The events of an epoch: 80 ms until its job starts, tasks of two stages, 60 ms of which one commits state."""
    start = started_ms(number)
    stages = [2 * number, 2 * number + 1]
    accumulables = [
        {"Name": event_log.STATE_COMMIT, "Update": "60"},
        {"Name": event_log.CHANGELOG, "Update": "55"},
        {"Name": event_log.STATE_LOAD, "Update": "20"},
        {"Name": "number of output rows", "Update": "9"},
    ]
    return [
        {
            "Event": "SparkListenerJobStart",
            "Job ID": number,
            "Submission Time": start + 80,
            "Stage IDs": stages,
            "Properties": {"streaming.sql.batchId": str(number)},
        },
        *(
            {
                "Event": "SparkListenerTaskEnd",
                "Stage ID": stage,
                "Task Info": {"Launch Time": start + 90, "Finish Time": start + 5000 + wait, "Accumulables": metrics},
            }
            for stage, wait, metrics in zip(stages, (10, 100), ([], accumulables), strict=True)
        ),
        {"Event": "SparkListenerJobEnd", "Job ID": number, "Completion Time": start + 5110},
        {
            "Event": event_log.PROGRESS,
            "progress": {
                "batchId": number,
                "timestamp": f"2027-01-15T08:{(number * EPOCH_MS) // 60000:02}:{number * EPOCH_MS / 1000 % 60:06.3f}Z",
                "durationMs": DURATIONS_MS,
            },
        },
    ]


def events(*numbers: int) -> list[dict[str, Any]]:
    other: list[dict[str, Any]] = [
        {"Event": "SparkListenerLogStart"},
        {"Event": "SparkListenerJobStart", "Job ID": 99, "Stage IDs": [99]},
    ]
    return [*other, *(event for number in numbers for event in an_epoch(number))]


def test_an_event_log_tells_the_times_of_epochs(tmp_path: Path) -> None:
    (tmp_path / "local-1").write_text("\n".join(map(json.dumps, events(0, 1))), encoding="utf-8")
    first, second = event_log.read(tmp_path)
    assert (first.number, second.number) == (0, 1)
    assert second.trigger_ms == started_ms(1)
    assert second.job_start_ms - second.trigger_ms == 80
    assert second.last_finish_ms - second.trigger_ms == 5100
    assert second.state_commit_ms == 60
    assert second.durations_ms["walCommit"] == 20


def test_an_epoch_that_still_runs_is_left_out() -> None:
    assert [epoch.number for epoch in event_log.epochs(events(0, 1)[:-2])] == [0]
    running = [event for event in events(0) if event["Event"] != "SparkListenerTaskEnd"]
    assert event_log.epochs(running) == []


def test_the_parts_of_a_gap_add_up() -> None:
    epochs = event_log.epochs(events(0, 1, 2))
    due = [started_ms(0) / 1000 + 4 + n / 100 for n in range(200)]
    answers = [
        (at, at + 0.002 if at * 1000 < started_ms(0) + 5000 else max(at, started_ms(1) / 1000 + 0.14)) for at in due
    ]
    [parts] = boundary.gaps(epochs, answers)
    assert sum(parts[name] for name in PARTS) == pytest.approx(parts["gap"], abs=0.01)
    assert parts["logs"] == 45
    assert parts["state commit"] == 60
    assert parts["report"] == EPOCH_MS - 5100 - 45
    assert (parts["offsets"], parts["planning"], parts["job"], parts["launch"]) == (6, 30, 44, 10)
    assert (parts["state load"], parts["changelog"]) == (20, 55)
    assert parts["first record"] == pytest.approx(30, abs=0.01)
    assert parts["slowest"] == pytest.approx(340, abs=0.01)


def test_a_boundary_without_answers_on_both_sides_does_not_count() -> None:
    epochs = event_log.epochs(events(0, 2, 3))
    start_s = started_ms(2) / 1000
    assert boundary.gaps(epochs, [(start_s + 1, start_s + 2)]) == []
    assert boundary.summary([])["boundaries"] == 0
    summary = boundary.summary([{"gap": 10.0}, {"gap": 30.0}, {"gap": 12.0}])
    assert (summary["median"], summary["spread"]) == ({"gap": 12.0}, {"gap": [10.0, 30.0]})


def test_the_legs_of_ordinary_records_add_up() -> None:
    rows = [(n * 1.003, float(int(n * 1.003 + 0.4)), float(int(n * 1.003 + 1.4)), n * 1.003 + 1.9) for n in range(1000)]
    legs = path.legs([*rows, (0.0, 1.0, 400.0, 500.0)])
    assert legs["send"] == pytest.approx(0.4, abs=0.05)
    assert legs["engine"] == pytest.approx(1.0, abs=0.05)
    assert legs["receive"] == pytest.approx(0.5, abs=0.05)
    assert legs["send"] + legs["engine"] + legs["receive"] == pytest.approx(legs["p50"], abs=0.01)
    assert legs["p50"] == pytest.approx(1.9, abs=0.01)


PRINTED = """jdk.ExecutionSample {
  startTime = 03:14:15.926
  sampledThread = "Executor task launch worker for task 0.0 in stage 1.0 (TID 3)" (javaThreadId = 120)
  state = "STATE_RUNNABLE"
  stackTrace = [
    java.util.HashMap.getNode(Object) line: 568
    org.apache.kafka.clients.NetworkClient.poll(long, long) line: 590
    org.apache.kafka.clients.consumer.internals.ConsumerNetworkClient.poll(Timer) line: 250
    org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage1.processNext() line: 40
    ...
  ]
}

jdk.ExecutionSample {
  startTime = 03:14:15.936
  sampledThread = "stream execution thread for [id = 1]" (javaThreadId = 80)
  state = "STATE_RUNNABLE"
  stackTrace = [
    org.apache.spark.sql.catalyst.trees.TreeNode.foreach(Function1) line: 290
  ]
}
"""


def test_printed_samples_are_read() -> None:
    first, second = profile.parse(PRINTED.splitlines())
    assert first[0].startswith("Executor task launch worker")
    assert first[1][:2] == ["java.util.HashMap", "org.apache.kafka.clients.NetworkClient"]
    assert places.of_sample(*first) == places.FETCH
    assert places.of_sample(*second) == places.DRIVER


def test_the_nearest_known_frame_tells_the_place() -> None:
    rows = "org.apache.spark.sql.execution.WholeStageCodegenEvaluatorFactory"
    state = "org.apache.spark.sql.execution.streaming.state.RocksDB"
    assert places.of_sample("Executor task", ["java.lang.Object", state, rows]) == places.STATE
    assert places.of_sample("Executor task", [rows, state]) == places.ROWS
    assert places.of_sample("Executor task", ["java.lang.Object"]) == places.OTHER


def test_samples_divide_the_time_that_the_system_counted() -> None:
    task = "Executor task launch worker for task 0.0 in stage 1.0 (TID 3)"
    samples = [
        (task, ["org.apache.kafka.clients.consumer.KafkaConsumer"]),
        (task, ["org.rocksdb.RocksDB"]),
        (task, ["org.rocksdb.RocksDB"]),
        (task, ["java.lang.Object"]),
    ]
    threads = {task[: places.NAME_LENGTH]: 2.0, "C2 CompilerThre": 0.5, "GC Thread#1": 0.25, "a thread": 0.125}
    fetch, state, other = 0.5, 1.0, 0.625
    assert places.costs(threads, samples) == {
        places.FETCH: fetch,
        places.STATE: state,
        places.OTHER: other,
        places.JIT: 0.5,
        places.GC: 0.25,
    }
