# SPDX-License-Identifier: Apache-2.0
"""The measured query: ordinary PySpark, the same file for every engine.

It knows nothing of the engine: stock Spark runs it with `python`, Headrace with `headrace run`.
"""

from __future__ import annotations

import argparse
import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf


def stateless(records: DataFrame) -> DataFrame:
    """Keeps records with a value and adds a field to it."""
    return records.where(sf.col("value").isNotNull()).select(
        "key", sf.concat(sf.col("value").cast("string"), sf.lit(" scored")).alias("value")
    )


def count(records: DataFrame) -> DataFrame:
    """Counts records by key; each result carries the send time of the record that made it."""
    return (
        records.groupBy(sf.col("key").cast("string").alias("key"))
        .agg(sf.count("*").alias("n"), sf.max(sf.col("value").cast("string")).alias("newest"))
        .select("key", sf.concat_ws(" ", "newest", sf.col("n").cast("string")).alias("value"))
    )


WORKLOADS = {"stateless": stateless, "count": count}


def main() -> None:
    """Runs the query until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("bootstrap", "source", "sink", "checkpoint", "workload", "epoch"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    spark = SparkSession.builder.appName("benchmark").getOrCreate()
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", arguments.bootstrap)
        .option("subscribe", arguments.source)
        .option("startingOffsets", "earliest")
        .load()
    )
    query = (
        WORKLOADS[arguments.workload](records)
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", arguments.bootstrap)
        .option("topic", arguments.sink)
        .option("checkpointLocation", arguments.checkpoint)
        .outputMode("update")
        .trigger(realTime=arguments.epoch)  # type: ignore[call-overload]  # PySpark 4.3 has no type for it.
        .start()
    )
    sys.stdin.read()
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
