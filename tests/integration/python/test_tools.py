# SPDX-License-Identifier: Apache-2.0
"""Spark's own profiler of Python functions, in real-time mode: what it gathers is there when an epoch has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd  # noqa: TC002 PySpark reads the hints of a pandas function
import pytest
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

import headrace
from tests.integration.streams import PATIENCE, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import Column

    from tests.integration.streams import Bench

RECORDS = 20


@pytest.mark.parametrize("kind", ["udf", "pickled udf", "pandas_udf"])
def test_profiles_are_there_after_a_drain(bench: Bench, tmp_path: Path, kind: str) -> None:
    def doubled(text: str) -> str:
        return text * 2

    def doubled_series(texts: pd.Series) -> pd.Series:
        return texts * 2

    function = {
        "udf": F.udf(doubled, useArrow=True),
        "pickled udf": F.udf(doubled, useArrow=False),
        "pandas_udf": F.pandas_udf(doubled_series, "string"),  # type: ignore[call-overload] # as PySpark documents it
    }[kind]
    bench.spark.conf.set("spark.sql.pyspark.udf.profiler", "perf")
    try:
        run(bench, function)
    finally:
        bench.spark.conf.unset("spark.sql.pyspark.udf.profiler")
    bench.spark.profile.dump(str(tmp_path), type="perf")
    assert [file.name for file in tmp_path.glob("udf_*_perf.pstats")]
    bench.spark.profile.clear()


def run(bench: Bench, function: Callable[[Column], Column]) -> None:
    source, sink = bench.kafka.topic("values", partitions=1), bench.kafka.topic("answers")
    rows = bench.read(source).select(function(F.col("value").cast("string")).alias("value"))
    query = start_real_time(bench.write(rows, sink))
    bench.kafka.produce(source, [f"value {number}" for number in range(RECORDS)])
    bench.kafka.read_until(sink, RECORDS, timeout=PATIENCE)
    headrace.drain(query)
