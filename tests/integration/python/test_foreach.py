# SPDX-License-Identifier: Apache-2.0
"""`foreach` with a writer in Python, in real-time mode."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.testing import eventually
from tests.integration.streams import PATIENCE, await_epochs, start_real_time

if TYPE_CHECKING:
    from pyspark.sql import Row
    from pyspark.sql.streaming import DataStreamWriter

    from tests.integration.streams import Bench


class Diary:
    """Writes down what it is asked to do, in one file for each partition."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def open(self, partition_id: int, _epoch: int) -> bool:
        self.file = Path(self.folder, f"{partition_id}.txt").open("a", buffering=1, encoding="utf-8")  # noqa: SIM115
        self.file.write("open\n")
        return True

    def process(self, row: Row) -> None:
        if row.text == "broken":
            message = "this row is broken"
            raise ValueError(message)
        self.file.write(f"{row.text}\n")

    def close(self, error: Exception | None) -> None:
        self.file.write(f"close {error}\n")
        self.file.close()


def lines(folder: Path) -> list[str]:
    return [line for path in sorted(folder.glob("*.txt")) for line in path.read_text(encoding="utf-8").splitlines()]


def writer(bench: Bench, topic: str, folder: Path, *, behind_a_shuffle: bool = False) -> DataStreamWriter:
    rows = bench.read(topic).selectExpr("cast(value as string) as text")
    rows = rows.repartition(2, "text") if behind_a_shuffle else rows
    return rows.writeStream.foreach(Diary(folder)).outputMode("update").option("checkpointLocation", bench.checkpoint)


def test_each_row_reaches_the_writer_without_a_further_one(bench: Bench, tmp_path: Path) -> None:
    topic = bench.kafka.topic(partitions=1)
    query = start_real_time(writer(bench, topic, tmp_path))
    for number in range(1, 4):
        bench.kafka.produce(topic, [f"row {number}"])
        eventually(lambda: len(lines(tmp_path)) > number, PATIENCE)  # noqa: B023 asked for at once
    assert lines(tmp_path) == ["open", "row 1", "row 2", "row 3"]
    query.stop()


def test_a_writer_is_opened_and_closed_in_each_epoch(bench: Bench, tmp_path: Path) -> None:
    topic = bench.kafka.topic(partitions=1)
    query = start_real_time(writer(bench, topic, tmp_path), "1 second")
    bench.kafka.produce(topic, ["first"])
    eventually(lambda: "first" in lines(tmp_path), PATIENCE)
    await_epochs(query, 2)
    bench.kafka.produce(topic, ["second"])
    eventually(lambda: "second" in lines(tmp_path), PATIENCE)
    await_epochs(query, 1)
    query.stop()
    found = lines(tmp_path)
    between = found[found.index("first") + 1 : found.index("second")]
    assert between[:2] == ["close None", "open"]


@pytest.mark.parametrize("behind_a_shuffle", [False, True], ids=["in the reader's task", "behind a shuffle"])
def test_an_error_in_the_writer_ends_the_query_at_once(bench: Bench, tmp_path: Path, *, behind_a_shuffle: bool) -> None:
    """Without a further row, and with the user's own error; the next start reads the row again."""
    topic = bench.kafka.topic(partitions=1)
    query = start_real_time(writer(bench, topic, tmp_path, behind_a_shuffle=behind_a_shuffle))
    bench.kafka.produce(topic, ["fine"])
    eventually(lambda: "fine" in lines(tmp_path), PATIENCE)
    bench.kafka.produce(topic, ["broken"])
    eventually(lambda: query.exception() is not None, PATIENCE)
    assert "ValueError: this row is broken" in str(query.exception())
    assert "close this row is broken" in lines(tmp_path)
