# SPDX-License-Identifier: Apache-2.0
"""A micro-batch query on plain PySpark with Spark's own connector; it knows nothing of Headrace."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession


def main(bootstrap: str, source: str, sink: str, checkpoint: str, shape: str) -> None:
    """Reads what is there, writes it (or a count by value), and ends."""
    spark = SparkSession.builder.master("local[4]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    kafka = {"kafka.bootstrap.servers": bootstrap}
    rows = spark.readStream.format("kafka").options(**kafka, subscribe=source, startingOffsets="earliest").load()
    if shape == "count":
        rows = rows.groupBy("value").count().selectExpr("value AS key", "CAST(count AS STRING) AS value")
    query = (
        rows.select("key", "value")
        .writeStream.format("kafka")
        .options(**kafka, topic=sink, checkpointLocation=checkpoint)
        .outputMode("update")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
