# SPDX-License-Identifier: Apache-2.0
"""The measured queries: one ordinary PySpark program, the same file for every Spark engine.

It knows nothing of the engine: stock Spark runs it with `python`, Headrace with `headrace run`. It runs until standard
input ends, or until its query fails.
"""

import argparse
import os
import re
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle, StreamingQuery

SCHEMA = "id long, card long, merchant long, cents long, ts long"
# Nothing may be late: while an engine works off what came before it started, one partition can run ahead of another.
LATENESS = "1 minute"
MERCHANTS = 10_000
LINES_OF_AN_ERROR = 10
SINK_OPTIONS = {"exactly-once": {"delivery": "exactly-once"}}


def stateless(payments: DataFrame, _partitions: int) -> DataFrame:
    """Drops small payments and computes a fee for the others."""
    return answers(payments.where("cents > 1000"), "id", (sf.col("cents") * 3).alias("fee"))


def join(payments: DataFrame, _partitions: int) -> DataFrame:
    """Looks each payment's merchant up in a table."""
    rows = [(shop, shop * 31 % 97) for shop in range(MERCHANTS)]
    merchants = payments.sparkSession.createDataFrame(rows, "merchant long, category long")
    return answers(payments.join(sf.broadcast(merchants), "merchant"), "id", "category")


def count(payments: DataFrame, _partitions: int) -> DataFrame:
    """Counts payments by card."""
    counts = payments.groupBy("card").agg(sf.count("*").alias("n"), sf.max("id").alias("last"))
    return answers(counts, "card", "n", "last")


def window(payments: DataFrame, _partitions: int) -> DataFrame:
    """Counts payments by card in windows of ten seconds."""
    timed = payments.withColumn("at", sf.timestamp_millis("ts")).withWatermark("at", LATENESS)
    windows = timed.groupBy(sf.window("at", "10 seconds"), "card")
    counts = windows.agg(sf.count("*").alias("n"), sf.max("id").alias("last"))
    return answers(counts, "card", sf.unix_millis("window.start").alias("start"), "n", "last")


def dedup(payments: DataFrame, _partitions: int) -> DataFrame:
    """Drops payments whose id was seen before."""
    return answers(payments.dropDuplicates(["id"]), "id")


def shuffles(payments: DataFrame, partitions: int) -> DataFrame:
    """Sends payments by merchant to another task, then counts them by card."""
    return count(payments.repartition(partitions, "merchant"), partitions)


def score(cents: int) -> int:
    """What a Python function computes."""
    return (cents * 37 + 11) % 1000


def pandas_score(cents: pd.Series) -> pd.Series:
    """The same in pandas."""
    return (cents * 37 + 11) % 1000


class RunningTotal(StatefulProcessor):
    """Answers each payment with the count and the sum of its card so far."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """See StatefulProcessor."""
        self._so_far = handle.getValueState("so_far", "n long, total long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], _timers: Any) -> Iterator[Row]:  # noqa: ANN401, N802
        """See StatefulProcessor."""
        n, total = self._so_far.get() or (0, 0)
        for row in rows:
            n, total = n + 1, total + row.cents
            yield Row(card=key[0], id=row.id, n=n, total=total)
        self._so_far.update((n, total))

    def close(self) -> None:
        """See StatefulProcessor."""


def udf(payments: DataFrame, _partitions: int) -> DataFrame:
    """Calls a Python function on each amount."""
    # Made here and not by a decorator above: only when there is a session does Spark use Arrow, which is its default.
    scored = sf.udf(score, "long")
    return answers(payments.withColumn("score", scored("cents")), "id", "score")


def pandas(payments: DataFrame, _partitions: int) -> DataFrame:
    """Calls a pandas function on the amounts."""
    scored = sf.pandas_udf(pandas_score, "long")  # type: ignore[call-overload]  # PySpark has types for its own only.
    return answers(payments.withColumn("score", scored("cents")), "id", "score")


def in_sql(payments: DataFrame, _partitions: int) -> DataFrame:
    """Computes in SQL what the Python functions do."""
    return answers(payments.withColumn("score", sf.expr("(cents * 37 + 11) % 1000")), "id", "score")


def state(payments: DataFrame, _partitions: int) -> DataFrame:
    """Keeps count and sum by card in Python state."""
    totals = payments.groupBy("card").transformWithState(
        RunningTotal(), "card long, id long, n long, total long", outputMode="update", timeMode="none"
    )
    return answers(totals, "id", "n", "total")


WORKLOADS = {
    "stateless": stateless,
    "join": join,
    "count": count,
    "window": window,
    "dedup": dedup,
    "shuffles": shuffles,
    "udf": udf,
    "pandas": pandas,
    "state": state,
    "exactly-once": stateless,
}
IN_SQL = {"udf": in_sql, "pandas": in_sql}


def answers(rows: DataFrame, *fields: str | sf.Column) -> DataFrame:
    """Returns the rows as records for Kafka: the card as the key, some fields as JSON."""
    return rows.select(sf.col("card").cast("string").alias("key"), sf.to_json(sf.struct(*fields)).alias("value"))


def main() -> int:
    """Runs a query and returns the exit code."""
    arguments = _arguments()
    spark = SparkSession.builder.appName("benchmark").getOrCreate()
    try:
        query = _start(spark, arguments)
        stopper = threading.Thread(target=_stop_at_end_of_input, args=(query,), daemon=True)
        stopper.start()
        query.awaitTermination()
    except PySparkException as error:
        # The process ends here, and Spark with it: a query that failed may not be able to stop either.
        print(_as_block(error), file=sys.stderr, flush=True)
        return 1
    # The query is over a moment before the call that stops it returns, and that call needs Spark.
    stopper.join()
    spark.stop()
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", choices=WORKLOADS, required=True)
    parser.add_argument("--trigger", choices=["realTime", "processingTime", "continuous"], required=True)
    parser.add_argument("--interval-ms", type=int, required=True, help="of the trigger")
    parser.add_argument("--partitions", type=int, required=True, help="tasks behind a repartition")
    parser.add_argument("--in-sql", action="store_true", help="without Python")
    parser.add_argument("--sink-option", nargs="*", default=[], metavar="NAME=VALUE")
    for name in ("bootstrap", "source", "sink", "checkpoint"):
        parser.add_argument(f"--{name}", required=True)
    return parser.parse_args()


def _start(spark: SparkSession, arguments: argparse.Namespace) -> StreamingQuery:
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", arguments.bootstrap)
        .option("subscribe", arguments.source)
        .option("startingOffsets", "earliest")
        .load()
    )
    payments = records.select(sf.from_json(sf.col("value").cast("string"), SCHEMA).alias("payment")).select("payment.*")
    workload = (IN_SQL if arguments.in_sql else WORKLOADS)[arguments.workload]
    return (
        workload(payments, arguments.partitions)
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", arguments.bootstrap)
        .option("topic", arguments.sink)
        .option("checkpointLocation", arguments.checkpoint)
        .options(**SINK_OPTIONS.get(arguments.workload, {}))
        .options(**dict(option.split("=", 1) for option in arguments.sink_option))
        .outputMode("update")
        .trigger(**{arguments.trigger: f"{arguments.interval_ms} milliseconds"})
        .start()
    )


def _stop_at_end_of_input(query: StreamingQuery) -> None:
    # Not through sys.stdin: its lock, held by this thread, would be an error when the program ends first.
    while os.read(0, 4096):
        pass
    query.stop()


def _as_block(error: PySparkException) -> str:
    """Returns the condition and the message, without the plan and the state that Spark hangs on."""
    message = re.sub(r"^\[STREAM_FAILED\] Query \[.*?\] terminated with exception: ", "", str(error))
    message = re.split(r";\n|\n=== Streaming Query ===", message)[0]
    return "\n".join(message.splitlines()[:LINES_OF_AN_ERROR])


if __name__ == "__main__":
    sys.exit(main())
