# SPDX-License-Identifier: Apache-2.0
"""Scores card transactions from Kafka for fraud, and writes every score back to Kafka.

Ordinary PySpark: nothing here knows of Headrace, and nothing but the trigger decides between micro-batch and real-time
mode. To run it by hand, against a broker of yours::

    headrace run score.py --bootstrap HOST:PORT --trigger 'realTime=5 minutes'
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 the name that PySpark's own guides use

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

TRANSACTION = """
    sent_at BIGINT, id STRING, card STRING, merchant INT, amount DOUBLE, usual_amount DOUBLE, local_hour INT,
    last_minute INT, previous STRUCT<latitude: DOUBLE, longitude: DOUBLE, hours_ago: DOUBLE>
"""
MERCHANT = """
    merchant INT, name STRING, category STRING, city STRING, country STRING, latitude DOUBLE, longitude DOUBLE,
    utc_offset DOUBLE, online BOOLEAN, risk DOUBLE
"""

EARTH_RADIUS_KM = 6371
FAR_KM = 100
FASTEST_JOURNEY_KMH = 900
TINY_AMOUNT = 3
BURST_FROM = 4
LARGE_FACTOR = 8
RISKY_FROM = 0.5
ALERT_FROM = 0.7


def main() -> None:
    """Runs the query until it is stopped."""
    args = parse_arguments()
    kind, _, interval = args.trigger.partition("=")

    spark = SparkSession.builder.appName("card-scoring").getOrCreate()
    merchants = spark.read.schema(MERCHANT).csv(args.merchants, header=True)
    transactions = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", args.bootstrap)
        .option("subscribe", args.transactions)
        .option("startingOffsets", "earliest")
        .load()
        .select(F.from_json(F.col("value").cast("string"), TRANSACTION).alias("transaction"))
        .select("transaction.*")
    )
    query = (
        score(transactions, merchants)
        .select(F.col("card").alias("key"), F.to_json(F.struct("*")).alias("value"))
        .writeStream.queryName("scores")
        .format("kafka")
        .option("kafka.bootstrap.servers", args.bootstrap)
        .option("topic", args.scores)
        .option("checkpointLocation", args.checkpoint)
        .outputMode("update")
        .trigger(**{kind: interval})
        .start()
    )
    print(f"scoring {args.transactions} into {args.scores}", flush=True)
    query.awaitTermination()


def score(transactions: DataFrame, merchants: DataFrame) -> DataFrame:
    """Returns each transaction's id and time with a score between 0 and 1, and the reasons of an alert."""
    # A merchant that is not in the table yet must not make a transaction disappear.
    here = transactions.join(F.broadcast(merchants), "merchant", "left").fillna({"risk": RISKY_FROM, "online": False})
    distance = kilometres(
        (F.col("previous.latitude"), F.col("previous.longitude")), (F.col("latitude"), F.col("longitude"))
    )
    is_fast = distance / F.greatest(F.col("previous.hours_ago"), F.lit(0.01)) > FASTEST_JOURNEY_KMH
    signs = {
        "impossible travel": ~F.col("online") & (distance > FAR_KM) & is_fast,
        "card testing": F.col("online") & (F.col("amount") < TINY_AMOUNT) & (F.col("last_minute") >= BURST_FROM),
        "unusual at night": (
            F.col("local_hour").between(1, 4)
            & (F.col("amount") > LARGE_FACTOR * F.col("usual_amount"))
            & (F.col("risk") >= RISKY_FROM)
        ),
    }
    reasons = F.array_compact(F.array(*[F.when(sign, F.lit(reason)) for reason, sign in signs.items()]))
    points = F.least(F.lit(1.0), 0.3 * F.col("risk") + ALERT_FROM * F.size("reasons"))
    return (
        here.withColumn("reasons", reasons)
        .withColumn("score", F.round(points, 3))
        .select("id", "sent_at", "card", "amount", "name", "city", "score", "reasons")
        .withColumn("is_alert", F.col("score") >= ALERT_FROM)
    )


def kilometres(start: tuple[Column, Column], end: tuple[Column, Column]) -> Column:
    """Returns the distance over the Earth's surface between two points of latitude and longitude."""
    latitude, longitude = F.radians(start[0]), F.radians(start[1])
    to_latitude, to_longitude = F.radians(end[0]), F.radians(end[1])
    half_chord = F.pow(F.sin((to_latitude - latitude) / 2), 2) + F.cos(latitude) * F.cos(to_latitude) * F.pow(
        F.sin((to_longitude - longitude) / 2), 2
    )
    return 2 * EARTH_RADIUS_KM * F.asin(F.sqrt(half_chord))


def parse_arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Score card transactions from Kafka for fraud.")
    parser.add_argument("--bootstrap", required=True, help="the address of the Kafka broker")
    parser.add_argument("--transactions", default="transactions", help="the topic to read")
    parser.add_argument("--scores", default="scores", help="the topic to write")
    parser.add_argument("--checkpoint", required=True, help="a folder for the query's progress")
    parser.add_argument("--merchants", default=str(Path(__file__).with_name("merchants.csv")), help="a CSV file")
    parser.add_argument("--trigger", required=True, help="e.g. 'processingTime=0 seconds' or 'realTime=5 minutes'")
    return parser.parse_args()


if __name__ == "__main__":
    main()
