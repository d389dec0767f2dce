# SPDX-License-Identifier: Apache-2.0
"""Queries whose latency is measured, as one table: each gives one row for each record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame


def stateless(records: DataFrame) -> DataFrame:
    """One stage."""
    return records.select("key", F.upper(F.col("value").cast("string")).alias("value"))


def counted(records: DataFrame) -> DataFrame:
    """One shuffle."""
    return records.groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))


def spread_and_counted(records: DataFrame) -> DataFrame:
    """Two shuffles, one after the other."""
    return counted(records.repartition(2))


def in_python(records: DataFrame) -> DataFrame:
    """A Python function."""
    loud = F.udf(lambda text: f"{text}!", "string")
    return records.select("key", loud(F.col("value").cast("string")).alias("value"))


def in_python_behind_a_shuffle(records: DataFrame) -> DataFrame:
    """A Python function that gets its rows through a shuffle."""
    return in_python(counted(records))


def mapped(records: DataFrame) -> DataFrame:
    """A function of batches, which answers each of them."""
    texts = records.select("key", F.col("value").cast("string").alias("value"))
    return texts.mapInPandas(lambda frames: frames, "key binary, value string")


STAGES: dict[str, tuple[Callable[[DataFrame], DataFrame], int]] = {
    "stateless": (stateless, 1),
    "one shuffle": (counted, 2),
    "two shuffles": (spread_and_counted, 3),
    "Python": (in_python, 1),
    "Python behind a shuffle": (in_python_behind_a_shuffle, 2),
    "Python by batches": (mapped, 1),
}
"""The queries, and how many stages each has."""
