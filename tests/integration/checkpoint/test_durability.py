# SPDX-License-Identifier: Apache-2.0
"""What was committed survives a loss of power: each file and each name is synced, in the right order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tests.integration.checkpoint.files import Files, names_in
from tests.integration.probes import jvm_class
from tests.integration.streams import await_epochs, start_real_time

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.integration.streams import Bench

WATCHED = "headrace.probe.WatchedCheckpoint"
UUID = re.compile(r"\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def steps_of(files: Files) -> list[str]:
    """What was done, without what is different each time."""
    return [UUID.sub("", step) for step in files.jvm.steps()]


def test_a_new_file_is_durable_before_it_has_its_name_and_its_name_before_it_counts(
    spark: SparkSession, tmp_path: Path
) -> None:
    files = Files(spark, WATCHED, tmp_path)
    files.write(tmp_path / "0", b"content")
    assert steps_of(files) == [
        "sync file .0.tmp",
        "sync file ..0.tmp.crc",
        "publish .0.tmp",
        "replace ..0.tmp.crc",
        "remove .0.tmp",
        f"sync folder {tmp_path.name}",
    ]


def test_old_checksums_never_lie_beside_new_data(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(spark, WATCHED, tmp_path)
    files.write(tmp_path / "0", b"old")
    before = len(steps_of(files))
    files.write(tmp_path / "0", b"new", overwrite=True)
    assert steps_of(files)[before:] == [
        "sync file .0.tmp",
        "sync file ..0.tmp.crc",
        "remove .0.crc",
        "replace .0.tmp",
        "replace ..0.tmp.crc",
        f"sync folder {tmp_path.name}",
    ]


def test_a_file_that_is_refused_or_cancelled_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(spark, WATCHED, tmp_path)
    files.write(tmp_path / "0", b"first")
    loser = files.begin(tmp_path / "0", b"second")
    cancelled = files.begin(tmp_path / "1", b"unwanted")
    cancelled.cancel()
    try:
        loser.close()
    except Exception:  # noqa: BLE001 which one it is says another test
        loser.cancel()
    assert names_in(tmp_path) == [".0.crc", "0"]


def test_new_folders_are_durable(spark: SparkSession, tmp_path: Path) -> None:
    files = Files(spark, WATCHED, tmp_path)
    files.jvm.mkdirs(files.path(tmp_path / "state" / "0"))
    assert steps_of(files) == ["sync folder state", f"sync folder {tmp_path.name}"]


def test_the_commits_of_a_query_are_synced(bench: Bench) -> None:
    """The flight recorder sees the logs, the state with its checksums, and their folders go to the disk."""
    source = bench.kafka.topic("in")
    counts = bench.read(source).groupBy("value").count().selectExpr("value key", "cast(count as string) value")
    query = start_real_time(bench.write(counts, bench.kafka.topic("out")), "1 second")
    await_epochs(query, 1)
    events = jvm_class(bench.spark, "headrace.probe.JvmEvents")()
    bench.kafka.produce(source, ["a"])
    await_epochs(query, 2)
    root = Path(bench.checkpoint)
    synced = {
        re.sub(r"\d+", "N", UUID.sub("", str(Path(path).relative_to(root))))
        for path in events.synced()
        if Path(path).is_relative_to(root)
    }
    query.stop()
    logs = {f"{log}{file}" for log in ("offsets", "commits") for file in ("", "/.N.tmp", "/..N.tmp.crc")}
    assert logs <= synced
    # State: the log of changes, and the checksum that Spark itself keeps of it; beside both, Hadoop's.
    state = {re.sub(r"N_[^.]*", "N", path.removeprefix("state/N/N")) for path in synced if path.startswith("state")}
    of_changes = {"", "/.N.changelog.tmp", "/..N.changelog.tmp.crc"}
    of_their_checksum = {"/.N.changelog.crc.tmp", "/..N.changelog.crc.tmp.crc"}
    assert of_changes | of_their_checksum <= state
