# SPDX-License-Identifier: Apache-2.0
"""`headrace.catch_up`: old records in micro-batches, new ones in real time, on one checkpoint and each once."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headrace
from headrace.errors import CheckpointMissingError
from headrace.local import Record
from tests.integration.streams import LONG, PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import DataStreamWriter

    from tests.integration.streams import Bench

COPIER = Path(__file__).parents[2] / "failure" / "copier.py"
OLD = 20_000


def copies(records: DataFrame) -> DataFrame:
    return records.select("key", "value")


def counts(records: DataFrame) -> DataFrame:
    return records.groupBy("key").count().selectExpr("key", "CAST(count AS STRING) AS value")


def real_time(writer: DataStreamWriter) -> DataStreamWriter:
    made: DataStreamWriter = writer.trigger(realTime=LONG)  # type: ignore[call-overload] # PySpark's types lack it
    return made


def old_records() -> list[Record]:
    return [Record(key=b"key", value=str(number).encode()) for number in range(OLD)]


def test_old_records_come_once_and_new_ones_behind_them(
    bench: Bench, set_conf: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    set_conf("spark.headrace.catchUp.batchRecords", "6000")
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    bench.kafka.produce(source, old_records())
    writer = real_time(bench.write(copies(bench.read(source)), sink))
    headrace.catch_up(writer)
    assert len(bench.kafka.values(sink)) == OLD
    assert re.search(r"has caught up: 20,000 records in [\d.]+ s; going on in real time", capsys.readouterr().err)
    query = writer.start()
    bench.kafka.produce(source, ["new"])
    bench.kafka.read_until(sink, OLD + 1, timeout=PATIENCE)
    # The batches were of the size that was asked for, and the trigger is the one that the writer had.
    assert query.lastProgress is None or query.lastProgress.batchId >= 4
    headrace.drain(query)
    assert bench.kafka.values(sink) == [*[str(number).encode() for number in range(OLD)], b"new"]


def test_state_goes_on_with_the_shuffle_partitions_of_real_time(bench: Bench) -> None:
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    bench.kafka.produce(source, old_records()[:1000])
    writer = real_time(bench.write(counts(bench.read(source)), sink))
    headrace.catch_up(writer)
    assert bench.spark.conf.get("spark.sql.shuffle.partitions", None) is None
    writer.start()
    bench.kafka.produce(source, [Record(key=b"key", value=b"one more")])
    bench.kafka.read_until(sink, lambda records: records[-1:] != [] and records[-1].value == b"1001", timeout=PATIENCE)


def test_without_a_checkpoint_nothing_is_started(bench: Bench) -> None:
    writer = real_time(copies(bench.read(bench.kafka.topic("in"))).writeStream.format("noop"))
    with pytest.raises(CheckpointMissingError):
        headrace.catch_up(writer)


@pytest.mark.timeout(240)
def test_an_unchanged_script_catches_up(bench: Bench, tmp_path: Path) -> None:
    """And then reads what comes, until it is told to end."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    bench.kafka.produce(source, old_records())
    words = [str(COPIER), bench.kafka.bootstrap, source, sink, bench.checkpoint, "10m"]
    log = tmp_path / "log"
    with log.open("wb") as output:
        command = [sys.executable, "-m", "headrace.cli.main", "run", "--catch-up", *words]
        run = subprocess.Popen(command, stderr=output, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        bench.kafka.read_until(sink, OLD, timeout=PATIENCE * 2)
        bench.kafka.produce(source, ["new"])
        bench.kafka.read_until(sink, OLD + 1, timeout=PATIENCE)
    finally:
        run.terminate()
        run.wait()
    assert "has caught up: 20,000 records" in log.read_text()
    assert bench.kafka.values(sink) == [*[str(number).encode() for number in range(OLD)], b"new"]
