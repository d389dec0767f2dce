# SPDX-License-Identifier: Apache-2.0
"""From one Kafka topic to another: the smallest real-time query, and all that it takes to switch.

The two modes differ in one line, the trigger. Nothing here knows of Headrace, so this runs with either of::

    headrace run kafka_to_kafka.py --bootstrap HOST:PORT --checkpoint FOLDER
    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0 kafka_to_kafka.py ...

Stop it and start it again with the other ``--mode`` and the same checkpoint: it goes on where it stopped.
"""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that PySpark's own guides use

TRIGGERS = {
    "micro-batch": {"processingTime": "0 seconds"},
    "real-time": {"realTime": "5 minutes"},
}


def main() -> None:
    """Runs the query until it is stopped."""
    args = parse_arguments()
    spark = SparkSession.builder.appName("kafka-to-kafka").getOrCreate()
    query = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", args.bootstrap)
        .option("subscribe", args.source)
        .option("startingOffsets", "earliest")
        .load()
        .select("key", F.upper(F.col("value").cast("string")).alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", args.bootstrap)
        .option("topic", args.target)
        .option("checkpointLocation", args.checkpoint)
        .outputMode("update")
        .trigger(**TRIGGERS[args.mode])
        .start()
    )
    query.awaitTermination()


def parse_arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Copy a Kafka topic into another one, in capitals.")
    parser.add_argument("--bootstrap", required=True, help="the address of the Kafka broker")
    parser.add_argument("--source", default="words", help="the topic to read (default: words)")
    parser.add_argument("--target", default="loud-words", help="the topic to write (default: loud-words)")
    parser.add_argument("--checkpoint", required=True, help="a folder for the query's progress")
    parser.add_argument("--mode", choices=TRIGGERS, default="real-time", help="which trigger (default: real-time)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
