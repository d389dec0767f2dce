# SPDX-License-Identifier: Apache-2.0
"""Counts records behind a shuffle whose own timer never rings; prints the answers. Started by ``test_prompt.py``."""

from __future__ import annotations

import json
import sys

from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

import headrace
from headrace.local import Record
from headrace.testing import Kafka
from tests.integration.streams import PATIENCE, Bench, start_real_time

COUNT = 5
A_DAY_MS = "86400000"


def main(bootstrap: str, folder: str, observe: str, way: str) -> None:
    """Sends a record when the one before was answered."""
    conf = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": A_DAY_MS,
        "spark.headrace.observe": observe,
    }
    spark = headrace.session("prompt", master="local[6]", conf=conf)
    bench = Bench(spark, Kafka(bootstrap), folder)
    source, sink = bench.kafka.topic("source"), bench.kafka.topic("sink")
    rows = bench.read(source)
    if way == "python":
        rows = rows.select(F.udf(str.upper, "string", useArrow=True)(F.col("key").cast("string")).alias("key"))
    elif way == "shuffled before":
        rows = rows.repartition(2, "value")
    counts = rows.groupBy("key").count().selectExpr("key", "cast(count as string) value")
    query = start_real_time(bench.write(counts, sink))
    for number in range(1, COUNT + 1):
        bench.kafka.produce(source, [Record(key=b"key", value=b"")])
        bench.kafka.read_until(sink, number, timeout=PATIENCE)
    query.stop()
    spark.stop()
    print(json.dumps([value.decode() for value in bench.kafka.values(sink) if value is not None]))


if __name__ == "__main__":
    main(*sys.argv[1:])
