# SPDX-License-Identifier: Apache-2.0
"""Card transactions in, fraud alerts out, within milliseconds: a real-time query with epochs of 5 seconds.

A transaction is a JSON object such as::

    {"card": "4000-1", "amount": 950.0, "usual_amount": 40.0, "category": "jewellery", "country": "NZ", "home": "DE"}

Nothing here knows of Headrace, so this runs with either of::

    headrace run fraud.py --bootstrap HOST:PORT --checkpoint FOLDER
    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0 fraud.py ...
"""

from __future__ import annotations

import argparse

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that PySpark's own guides use

TRANSACTION = "card STRING, amount DOUBLE, usual_amount DOUBLE, category STRING, country STRING, home STRING"

# How often a card is misused in a kind of shop, between 0 and 1.
CATEGORY_RISK = """
    VALUES ('grocery', 0.05), ('restaurant', 0.1), ('fuel', 0.15), ('electronics', 0.5), ('jewellery', 0.6),
           ('gift cards', 0.7) AS risks(category, category_risk)
"""
UNKNOWN_CATEGORY_RISK = 0.3
ALERT_FROM = 0.8


def main() -> None:
    """Runs the query until it is stopped."""
    args = parse_arguments()
    spark = SparkSession.builder.appName("fraud").getOrCreate()
    transactions = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", args.bootstrap)
        .option("subscribe", args.transactions)
        .option("startingOffsets", "earliest")
        .load()
        .select(F.from_json(F.col("value").cast("string"), TRANSACTION).alias("transaction"))
        .select("transaction.*")
    )
    risk = (
        F.coalesce("category_risk", F.lit(UNKNOWN_CATEGORY_RISK))
        + F.when(F.col("amount") > 10 * F.col("usual_amount"), 0.3).otherwise(0.0)
        + F.when(F.col("country") != F.col("home"), 0.2).otherwise(0.0)
    )
    alerts = (
        transactions.join(F.broadcast(spark.sql(CATEGORY_RISK)), "category", "left")
        .withColumn("risk", F.round(risk, 2))
        .where(F.col("risk") >= ALERT_FROM)
        .select(F.col("card").alias("key"), F.to_json(F.struct("card", "amount", "category", "risk")).alias("value"))
    )
    writer = (
        alerts.writeStream.format("kafka")
        .option("kafka.bootstrap.servers", args.bootstrap)
        .option("topic", args.alerts)
        .option("checkpointLocation", args.checkpoint)
        .outputMode("update")
    )
    query = writer.trigger(realTime="5 seconds").start()  # type: ignore[call-overload] # PySpark's own types lack it
    query.awaitTermination()


def parse_arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Find fraud among card transactions.")
    parser.add_argument("--bootstrap", required=True, help="the address of the Kafka broker")
    parser.add_argument("--transactions", default="transactions", help="the topic to read (default: transactions)")
    parser.add_argument("--alerts", default="alerts", help="the topic to write (default: alerts)")
    parser.add_argument("--checkpoint", required=True, help="a folder for the query's progress")
    return parser.parse_args()


if __name__ == "__main__":
    main()
