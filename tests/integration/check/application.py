# SPDX-License-Identifier: Apache-2.0
"""An application that knows nothing of checks; it waits for its queries in every way there is."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession


def main(bootstrap: str, source: str, folder: str, shape: str) -> None:
    """Starts queries and waits for them."""
    spark = SparkSession.builder.appName("application").getOrCreate()
    kafka = {"kafka.bootstrap.servers": bootstrap}
    rows = spark.readStream.format("kafka").options(**kafka, subscribe=source).load().select("key", "value")
    if shape == "sorted":
        rows = rows.orderBy("key")
    writer = rows.writeStream.format("kafka").options(**kafka, topic="out").outputMode("update")
    query = writer.trigger(realTime="5 seconds").start(  # type: ignore[call-overload] # PySpark's types lack it
        checkpointLocation=f"{folder}/checkpoint", queryName="copies"
    )
    print("isActive", query.isActive, "name", query.name, "progress", query.lastProgress)
    query.processAllAvailable()
    assert query.awaitTermination() is None
    assert query.awaitTermination(60) is True
    rows.writeStream.format("parquet").start(f"{folder}/files", checkpointLocation=f"{folder}/other").awaitTermination()
    rows.writeStream.option("checkpointLocation", f"{folder}/third").toTable("copied")
    spark.streams.awaitAnyTermination()
    query.stop()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
