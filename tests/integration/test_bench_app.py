# SPDX-License-Identifier: Apache-2.0
"""`headrace bench --app`: an application that knows nothing of it, on topics with live traffic."""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.local import Record, Writer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.testing import Kafka

BENCH = Path(__file__).parents[2] / "benchmarks" / "bench.py"
BRIEFLY = ("--warm-up", "1", "--window", "3", "--patience", "5")
PACE_S = 0.01
KEYS = 5
pytestmark = pytest.mark.timeout(240)

APP = """
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

bootstrap, source, target, folder, more = sys.argv[1:]
assert __name__ == "__main__"
spark = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", source)
# Without the beginning that the benchmark sets, hours of records would come first.
rows = reader.options(startingTimestamp=1, **({"maxOffsetsPerTrigger": 1000} if more == "limited" else {})).load()
kept = open(f"{folder}/kept", "a")
if more == "second":
    rows.writeStream.foreachBatch(lambda batch, _: kept.write("called")).queryName("kept").start()
(
    rows.select("key", F.upper(F.col("value").cast("string")).alias("value"), F.lit(target).alias("topic"))
    .writeStream.trigger(processingTime="1 hour")
    .start(
        format="kafka",
        outputMode="update",
        checkpointLocation=f"{folder}/checkpoint",
        **{"kafka.bootstrap.servers": bootstrap},
    )
    .awaitTermination()
)
"""


@contextlib.contextmanager
def traffic(kafka: Kafka, topic: str) -> Iterator[None]:
    """Writes a record every now and then, until the block ends."""
    is_over = threading.Event()

    def write() -> None:
        writer = Writer(kafka.bootstrap)
        for number in itertools.count():
            writer.write(topic, Record(key=b"%d" % (number % KEYS), value=b"a word"))
            if is_over.wait(PACE_S):
                break
        writer.flush()

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def compare(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    app = folder / "app.py"
    app.write_text(APP, encoding="utf-8")
    words = [sys.executable, str(BENCH), *BRIEFLY, "--out", str(folder), "--app", str(app), *arguments]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def result(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "app.json").read_text(encoding="utf-8"))
    return found


def test_both_modes_answer_every_input_and_leave_nothing_behind(kafka: Kafka, tmp_path: Path) -> None:
    source, target = kafka.topic("words", partitions=2), kafka.topic("loud-words", partitions=3)
    before = kafka.topics.names()
    with traffic(kafka, source):
        finished = compare(tmp_path, kafka.bootstrap, source, target, str(tmp_path), "second")
    assert finished.returncode == 0, finished.stderr

    found = result(tmp_path)
    [query] = found["queries"]
    modes = query["modes"]
    assert [cell["trigger"] for cell in modes.values()] == ['processingTime="0 seconds"', 'realTime="5 seconds"']
    assert all(cell["records"] == cell["inputs"] > 100 for cell in modes.values())
    # Keys come again after 50 ms: only exact pairs show latencies beyond it.
    assert "first output of a key answers its first input" in found["rule"]
    assert modes["micro-batch"]["p50"] > modes["real-time"]["p50"] > 0
    assert modes["real-time"]["slots"] == 2
    assert [line.partition(":")[0] for line in found["unmeasured"]] == ["kept"]

    assert kafka.topics.names() == before
    assert kafka.values(target) == []
    assert not (tmp_path / "checkpoint").exists()
    assert (tmp_path / "kept").read_text(encoding="utf-8") == ""


def test_what_real_time_mode_refuses_is_the_result(kafka: Kafka, tmp_path: Path) -> None:
    source, target = kafka.topic("words"), kafka.topic("loud-words")
    before = kafka.topics.names()
    with traffic(kafka, source):
        finished = compare(tmp_path, kafka.bootstrap, source, target, str(tmp_path), "limited")
    assert finished.returncode == 0, finished.stderr
    assert "real-time: cannot, because" in finished.stdout
    found = result(tmp_path)
    assert found["cannot"]["real-time"].startswith("[KAFKA_OPTION_INVALID] The option 'maxOffsetsPerTrigger'")
    assert list(found["queries"][0]["modes"]) == ["micro-batch"]
    assert kafka.topics.names() == before


def test_without_traffic_it_asks_for_some(kafka: Kafka, tmp_path: Path) -> None:
    source = kafka.topic("words")
    before = kafka.topics.names()
    finished = compare(tmp_path, kafka.bootstrap, source, "nowhere", str(tmp_path), "")
    assert finished.returncode == 1
    assert f"No record came in on {source}" in finished.stderr
    assert "Start the producer" in finished.stderr
    assert kafka.topics.names() == before
