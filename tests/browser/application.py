# SPDX-License-Identifier: Apache-2.0
"""An application that starts and stops queries as it is told: a JSON object a line on stdin.

Each query copies a topic through a Python function. A strict one fails at the word `poison`.
"""

import json
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it
from pyspark.sql.streaming.query import StreamingQuery

servers = sys.argv[1]
spark = SparkSession.builder.appName("copying").getOrCreate()
queries: dict[str, StreamingQuery] = {}


def start(name: str, source: str, sink: str, checkpoint: str, *, strict: bool) -> None:
    """Starts a query."""

    @F.udf("string")
    def screened(text: str) -> str:
        if strict and text == "poison":
            message = "this is no value of mine"
            raise ValueError(message)
        return text

    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .load()
    )
    queries[name] = (
        records.select("key", screened(F.col("value").cast("string")).alias("value"))
        .writeStream.queryName(name)
        .format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("topic", sink)
        .option("checkpointLocation", checkpoint)
        .outputMode("update")
        .trigger(realTime="1 second")  # type: ignore[call-overload] # PySpark's own types lack it
        .start()
    )


for line in sys.stdin:
    words = json.loads(line)
    if "stop" in words:
        queries[words["stop"]].stop()
    else:
        start(**words)
