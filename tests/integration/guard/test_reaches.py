# SPDX-License-Identifier: Apache-2.0
"""Every internal of Spark's that the engine reaches into, and what it counts on: fails first when Spark changes it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.probes import jvm_class
from tests.integration.streams import await_epochs, run_micro_batches, start_real_time

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

    from tests.integration.probes import TaskRecorder
    from tests.integration.streams import Bench

SOURCES = Path(__file__).parents[3] / "engine" / "src" / "main" / "scala"

TESTED_HERE = {
    "HDFSMetadataLog": "test_the_first_offsets_stand_where_spark_looks_for_them",
    "WriteToStreamStatement": "test_a_starting_query_tells_its_trigger",
    "RealTimeStreamScanExec": "test_a_real_time_plan_shows_its_scans_and_their_tasks",
    "RealTimeStreamScanExec.batchDurationMs": "test_a_real_time_plan_shows_its_scans_and_their_tasks",
    "SparkContext.maxNumConcurrentTasks": "test_spark_tells_how_many_tasks_can_run_at_once",
    "SQLConf.STATEFUL_SHUFFLE_PARTITIONS_INTERNAL": "test_the_default_of_shuffle_partitions_is_pinned",
    "CheckpointFileManager": "test_a_checkpoint_is_listed_and_opened_through_its_file_manager",
    "spark.jobGroup.id": "test_a_query_marks_its_tasks_with_run_and_epoch",
    "streaming.sql.batchId": "test_a_query_marks_its_tasks_with_run_and_epoch",
}
TESTED_WITH_PYTHON = {
    "spark.python.unix.domain.socket.dir": "test_workers_are_reached_over_a_local_socket",
    "PythonWorkerHandle.destroy": "test_a_function_that_hangs_fails_the_query",
    "PythonForeachWriter": "test_each_row_reaches_the_writer_without_a_further_one",
    "TransformWithStateInPySparkExec": "test_state_goes_from_mode_to_mode",
    "TransformWithStateInPySparkPythonBaseRunner": "test_state_goes_from_mode_to_mode",
    "StreamingDataSourceV2ScanRelation.relation.realTimeModeDuration": "test_state_goes_from_mode_to_mode",
    "TaskContext.setTaskContext": "test_real_time_and_micro_batch_give_the_same",
    "ArrowEvalPythonExec": "test_real_time_and_micro_batch_give_the_same",
    "BatchEvalPythonExec": "test_real_time_and_micro_batch_give_the_same",
    "MapInPandasExec": "test_real_time_and_micro_batch_give_the_same",
    "MapInArrowExec": "test_real_time_and_micro_batch_give_the_same",
    "MapInBatchEvaluatorFactory": "test_real_time_and_micro_batch_give_the_same",
    "MicroBatchWrite.writeSupport": "test_records_that_break_a_function_become_letters",
    "TransformWithStateInPySparkPythonInitialStateRunner": "test_it_is_handed_over_once",
    "ValueStateImpl": "test_state_goes_from_mode_to_mode",
    "BatchEvalPythonExec.getInputIterator": "test_real_time_and_micro_batch_give_the_same",
    "EvaluatePython": "test_real_time_and_micro_batch_give_the_same",
    "BasePythonRunner.pipelinedEnabled": "test_each_record_is_answered_without_a_further_one",
    "bufferSize": "test_each_record_is_answered_without_a_further_one",
    "envVars": "test_a_broken_function_fails_the_query_with_its_traceback",
    "pythonExec": "test_workers_carry_our_part_and_outlive_epochs",
    "Utils.getLocalDir": "test_workers_carry_our_part_and_outlive_epochs",
    "PythonException": "test_a_broken_function_fails_the_query_with_its_traceback",
    "TransformWithStateInPySparkStateServer": "test_the_jvm_forgets_iterators_before_the_epoch_ends",
}
"""In tests/integration/python."""
TESTED_WITH_CHECKPOINTS = {
    "spark.sql.streaming.checkpointFileManagerClass": "test_both_are_in_force",
    "CheckpointFileManager.CancellableFSDataOutputStream": "test_what_is_seen_is_the_same",
    "RocksDBFileManager": "test_none_is_started_for_a_snapshot_of_state_nor_to_load_it",
}
"""In tests/integration/checkpoint."""
TESTED_WITH_CHECKS = {
    "IncrementalExecution": "test_what_can_run_is_called_so",
    "OffsetSeqLog": "test_partitions_pinned_in_a_checkpoint_count",
    "DataStreamWriter.source": "test_no_sink_of_files_is_made",
    "DataStreamWriter.extraOptions": "test_what_can_run_is_called_so",
    "UnsupportedOperationChecker": "test_what_spark_alone_refuses_is_found_too",
}
"""In tests/integration/check."""
TESTED_WITH_COMMITS = {
    "MicroBatchScanExec.stream": "test_what_cannot_be_promised_is_refused_in_micro_batches",
    "LowLatencyClock": "test_progress_goes_on",
    "CurrentBatchTimestamp": "test_time_moves_on_with_the_trigger_inside_an_epoch",
}
"""In tests/integration/commit."""
TESTED_WITH_KAFKA = {"IntervalUtils.fromIntervalString": "test_a_wrong_writing_value_is_named"}
"""In tests/integration/kafka."""
TESTED_WITH_MODES = {"StreamingRelationV2.extraOptions": "test_old_records_come_once_and_new_ones_behind_them"}
"""In tests/integration/modes."""
TESTED_WITH_OBSERVATION = {
    "UnsafeRow.pointTo": "test_each_record_is_measured_once",
    "StreamingShuffleManager": "test_each_record_is_measured_once",
    "UnsafeRowSerializer": "test_each_record_is_measured_once",
    "StreamingShuffleReader.messageQueue": "test_rows_that_wait_for_a_stage_are_seen",
    "LocalPythonWorkerHandle.pid": "test_workers_are_known_by_their_process",
    "RealTimeStreamScanExec.scan": "test_stages_say_what_they_are_made_of",
    "ShuffleExchangeExec": "test_stages_say_what_they_are_made_of",
    "SharedState.activeStreamingQueries": "test_a_query_is_known_from_its_start",
}
"""In tests/integration/observe."""
TESTED_WITH_SHUFFLES = {"StreamingShuffleWriter.shards": "test_each_record_crosses_a_shuffle_without_a_timer"}
"""In tests/integration/shuffle."""
EPOCH_MS = 1000


def test_every_reach_has_its_test() -> None:
    """The comment `Reaches into Spark: ...` in the engine's sources is the list that this file must cover."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.scala"))
    reaches = {
        name for line in re.findall(r"Reaches into Spark: ([^\n]*)", text) for name in re.findall(r"`([^`]+)`", line)
    }
    elsewhere = {
        "python": TESTED_WITH_PYTHON,
        "checkpoint": TESTED_WITH_CHECKPOINTS,
        "check": TESTED_WITH_CHECKS,
        "commit": TESTED_WITH_COMMITS,
        "kafka": TESTED_WITH_KAFKA,
        "modes": TESTED_WITH_MODES,
        "observe": TESTED_WITH_OBSERVATION,
        "shuffle": TESTED_WITH_SHUFFLES,
    }
    assert reaches == set(TESTED_HERE).union(*elsewhere.values())
    assert set(TESTED_HERE.values()) <= set(globals())
    for folder, tested in elsewhere.items():
        tests = "".join(
            path.read_text(encoding="utf-8") for path in (Path(__file__).parents[1] / folder).glob("test_*.py")
        )
        assert all(f"def {test}(" in tests for test in tested.values())


@pytest.fixture
def counting(bench: Bench) -> StreamingQuery:
    """A stateful real-time query, after its first commit."""
    source = bench.kafka.topic("in", partitions=3)
    bench.kafka.produce(source, ["a", "b"])
    counts = bench.read(source).groupBy("value").count().selectExpr("value key", "cast(count as string) value")
    query = start_real_time(bench.write(counts, bench.kafka.topic("out")), f"{EPOCH_MS} milliseconds")
    await_epochs(query, 1)
    return query


def test_the_first_offsets_stand_where_spark_looks_for_them(bench: Bench) -> None:
    """Spark's connector reads `sources/0/0`: a zero byte, the version, the offsets."""
    source = bench.kafka.topic("in", partitions=2)
    bench.kafka.produce(source, ["a"])
    run_micro_batches(bench.write(bench.read(source).select("value"), bench.kafka.topic("out")))
    version, offsets = Path(bench.checkpoint, "sources", "0", "0").read_bytes().split(b"\n")
    assert version == b"\0v1"
    assert json.loads(offsets) == {source: {"0": 0, "1": 0}}


def test_a_starting_query_tells_its_trigger(bench: Bench) -> None:
    """The statement has the trigger, and copies of it keep all but what is changed."""
    found = jvm_class(bench.spark, "java.lang.Class").forName(
        "org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement"
    )
    members = {method.getName() for method in found.getMethods()}
    assert {"trigger", "sink", "inputQuery", "outputMode", "userSpecifiedCheckpointLocation", "copy"} <= members


def test_a_real_time_plan_shows_its_scans_and_their_tasks(bench: Bench, counting: StreamingQuery) -> None:
    """The scan in the running plan has as many partitions as the topic, and its duration was lengthened by ours."""
    plan: Any = counting._jsq.streamingQuery().lastExecution().executedPlan()
    scan = plan
    while not scan.children().isEmpty():
        scan = scan.children().head()
    assert scan.getClass().getSimpleName() == "RealTimeStreamScanExec"
    assert scan.inputPartitions().size() == 3
    assert scan.batchDurationMs() == EPOCH_MS + jvm_class(bench.spark, "headrace.guard.LateStart").GraceMs()


def test_spark_tells_how_many_tasks_can_run_at_once(bench: Bench) -> None:
    """The session's master is local[16]."""
    context: Any = bench.spark.sparkContext._jsc.sc()
    assert jvm_class(bench.spark, "org.apache.spark.headrace.Slots").total(context) == 16


def test_the_default_of_shuffle_partitions_is_pinned(bench: Bench, counting: StreamingQuery) -> None:
    """A real-time query gets our number, not Spark's 200, and its checkpoint keeps it."""
    ours = bench.spark.conf.get("spark.headrace.realtime.shufflePartitions")
    logged = Path(bench.checkpoint, "offsets", "0").read_text().split("\n")[1]
    assert json.loads(logged)["conf"]["spark.sql.shuffle.partitions"] == ours
    assert counting.lastProgress is not None
    assert str(counting.lastProgress.stateOperators[0].numShufflePartitions) == ours
    # Only that query's: a micro-batch query of the same session is not told.
    assert bench.spark.conf.get("spark.sql.shuffle.partitions") == "200"


def test_a_checkpoint_is_listed_and_opened_through_its_file_manager(bench: Bench, counting: StreamingQuery) -> None:
    """The newest commit begins with its version, as the check of a checkpoint's format expects."""
    counting.stop()
    hadoop: Any = bench.spark.sparkContext._jsc.hadoopConfiguration()
    commits = jvm_class(bench.spark, "org.apache.hadoop.fs.Path")(f"{bench.checkpoint}/commits")
    manager = jvm_class(
        bench.spark, "org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager"
    ).create(commits, hadoop)
    assert manager.exists(commits)
    files = [status.getPath() for status in manager.list(commits) if status.getPath().getName().isdigit()]
    newest = max(files, key=lambda path: int(path.getName()))
    assert bytes(manager.open(newest).readNBytes(3)) == b"v2\n"


def test_a_query_marks_its_tasks_with_run_and_epoch(recorder: TaskRecorder, counting: StreamingQuery) -> None:
    """Spark names the job group after the run, and passes the number of the epoch as that of a batch."""
    last = await_epochs(counting, 1)
    tasks = recorder.tasks(counting.id)
    assert {task.run for task in tasks} == {counting.runId}
    assert set(range(last + 1)) <= {task.epoch for task in tasks}
