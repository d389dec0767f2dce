# SPDX-License-Identifier: Apache-2.0
"""What functions need besides themselves: modules and archives that an application ships with them."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

from tests.integration.streams import PATIENCE, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import Column, SparkSession

    from tests.integration.streams import Bench

MODULE = "def doubled(text):\n    return text * 2\n"


def as_py_file(spark: SparkSession, folder: Path) -> None:
    (folder / "shipped_file.py").write_text(MODULE, encoding="utf-8")
    spark.sparkContext.addPyFile(str(folder / "shipped_file.py"))


def as_artifact(spark: SparkSession, folder: Path) -> None:
    (folder / "shipped_artifact.py").write_text(MODULE, encoding="utf-8")
    spark.addArtifacts(str(folder / "shipped_artifact.py"), pyfile=True)


def as_zipped_artifact(spark: SparkSession, folder: Path) -> None:
    # Zips of the same files differ, and Spark takes no two of one name.
    with zipfile.ZipFile(folder / f"{folder.name}.zip", "w") as shipped:
        shipped.writestr("shipped_zip.py", MODULE)
    spark.addArtifacts(str(folder / f"{folder.name}.zip"), pyfile=True)


@pytest.mark.parametrize(
    ("ship", "module"),
    [(as_py_file, "shipped_file"), (as_artifact, "shipped_artifact"), (as_zipped_artifact, "shipped_zip")],
    ids=["addPyFile", "addArtifacts", "addArtifacts of a zip"],
)
@pytest.mark.parametrize("use_arrow", [True, False], ids=["arrow", "pickled"])
def test_a_function_finds_modules_that_were_added_later(
    bench: Bench, tmp_path: Path, ship: Callable[[SparkSession, Path], None], module: str, *, use_arrow: bool
) -> None:
    """Its workers may be older than they are."""

    def doubled(text: str) -> str:
        import importlib  # noqa: PLC0415 the module is only there where it was shipped

        return str(importlib.import_module(module).doubled(text))

    spark = bench.spark.newSession()
    ship(spark, tmp_path)
    assert answer(bench, spark, F.udf(doubled, useArrow=use_arrow)) == b"abab"


def test_a_function_finds_an_archive(bench: Bench, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "shipped_data.zip", "w") as shipped:
        shipped.writestr("words.txt", "ab cd")

    def known(text: str) -> str:
        from pathlib import Path  # noqa: PLC0415 this runs elsewhere

        from pyspark import SparkFiles  # noqa: PLC0415

        words = Path(SparkFiles.get("words")) / "words.txt"
        return str(text in words.read_text(encoding="utf-8").split())

    spark = bench.spark.newSession()
    spark.addArtifacts(f"{tmp_path / 'shipped_data.zip'}#words", archive=True)
    assert answer(bench, spark, F.udf(known, useArrow=True)) == b"True"


def answer(bench: Bench, spark: SparkSession, function: Callable[..., Column]) -> bytes | None:
    """Runs a function on one record, in a session of its own."""
    source, sink = bench.kafka.topic("values"), bench.kafka.topic("answers")
    own = replace(bench, spark=spark)
    query = start_real_time(
        own.write(own.read(source).select(function(F.col("value").cast("string")).alias("value")), sink)
    )
    bench.kafka.produce(source, ["ab"])
    value = bench.kafka.read_until(sink, 1, timeout=PATIENCE)[0].value
    query.stop()
    return value
