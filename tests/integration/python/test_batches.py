# SPDX-License-Identifier: Apache-2.0
"""How many rows a function is given at once: what is there when it can take it, and no more than Spark may send it."""

from __future__ import annotations

import time
from collections.abc import Iterator  # noqa: TC003 PySpark reads the hints of functions
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

from headrace.testing import eventually
from tests.integration.python.functions import VECTORISED
from tests.integration.streams import PATIENCE, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from tests.integration.streams import Bench

MOST_ROWS = 7


def noting(folder: Path) -> Callable[[pd.Series], pd.Series]:
    """A function that notes how many rows it is given, and waits with the first ones until it may go on."""
    sizes, called, may_go_on = (str(folder / name) for name in ("sizes", "called", "may go on"))

    def noted(values: pd.Series) -> pd.Series:
        with Path(sizes).open("a", encoding="utf-8") as file:
            file.write(f"{len(values)}\n")
        Path(called).touch()
        while not Path(may_go_on).exists():
            time.sleep(0.01)
        return values

    return noted


def sizes_noted(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "sizes").read_text(encoding="utf-8").splitlines()]


def with_text(bench: Bench, topic: str) -> DataFrame:
    return bench.read(topic).select(F.col("value").cast("string").alias("text"))


def test_rows_gather_while_a_function_is_busy(bench: Bench, tmp_path: Path) -> None:
    """Sent one by one they would wait in front of it, each for the whole time that a call takes."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    noted = VECTORISED.pandas_udf(noting(tmp_path), "string")
    start_real_time(bench.write(with_text(bench, source).select(noted("text").alias("value")), sink))
    bench.kafka.produce(source, ["first"])
    eventually((tmp_path / "called").exists, PATIENCE)
    for number in range(50):
        bench.kafka.produce(source, [f"row {number}"])
    (tmp_path / "may go on").touch()
    bench.kafka.read_until(sink, 51, timeout=PATIENCE)
    # One that it had, one that was sent meanwhile, and all the others; the last ones may still have been on their way.
    assert len(sizes_noted(tmp_path)) <= 5


@pytest.mark.parametrize("kind", ["pandas_udf", "mapInPandas"])
def test_a_batch_is_no_larger_than_spark_may_make_it(
    bench: Bench, tmp_path: Path, set_conf: Callable[[str, str], None], kind: str
) -> None:
    set_conf("spark.sql.execution.arrow.maxRecordsPerBatch", str(MOST_ROWS))
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    bench.kafka.produce(source, [f"row {number}" for number in range(100)])
    (tmp_path / "may go on").touch()
    noted = noting(tmp_path)

    def noted_frames(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            yield pd.DataFrame({"value": noted(frame["text"])})

    rows = with_text(bench, source)
    asked = (
        rows.select(VECTORISED.pandas_udf(noted, "string")("text").alias("value"))
        if kind == "pandas_udf"
        else rows.mapInPandas(noted_frames, "value string")
    )
    start_real_time(bench.write(asked, sink))
    bench.kafka.read_until(sink, 100, timeout=PATIENCE)
    assert max(sizes_noted(tmp_path)) <= MOST_ROWS
