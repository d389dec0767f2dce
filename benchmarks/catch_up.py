# SPDX-License-Identifier: Apache-2.0
"""How fast a new query reads a million old records: in micro-batches, and in real-time mode.

One query at a time, in one Spark, after one of each kind over fewer records. The time is from `start()` until the last
result is in the topic. What is already in the result file is replaced.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness import machine
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

import headrace
from headrace.local import Broker, Record, Topics, Writer

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter

OUT = Path(__file__).parent / "results" / "catch-up.json"
KEYS = 10_000
PARTITIONS = 2
WARM_UP = 100_000
BATCHES = (50_000, 200_000, 1_000_000)
PATIENCE_S = 300


def copies(records: DataFrame) -> DataFrame:
    """Each record as it is."""
    return records.select("key", "value")


def python(records: DataFrame) -> DataFrame:
    """Each record through a Python function."""
    shouted = F.udf(lambda text: text.upper(), "string")(F.col("value").cast("string"))
    return records.select("key", shouted.alias("value"))


def counts(records: DataFrame) -> DataFrame:
    """The count of each of 10,000 keys."""
    return records.groupBy("key").count().select("key", F.col("count").cast("string").alias("value"))


QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {"copies": copies, "python": python, "counts": counts}


class Measurement:
    """One broker, one Spark, and topics with old records."""

    def __init__(self, spark: SparkSession, bootstrap: str, folder: Path) -> None:
        self._spark, self._bootstrap, self._folder = spark, bootstrap, folder
        self._topics = Topics(bootstrap)
        self._runs = 0

    def fill(self, topic: str, records: int) -> None:
        """Writes old records, of about 100 bytes."""
        self._topics.create(topic, partitions=PARTITIONS)
        writer = Writer(self._bootstrap, {"linger.ms": 50})
        for number in range(records):
            value = f"order {number:>10} of a customer who bought something once upon a time, and paid for it {number}"
            writer.write(topic, Record(key=str(number % KEYS).encode(), value=value.encode()))
        writer.flush()

    def micro_batches(self, query: str, source: str, batch: int) -> float:
        """Returns how many seconds it took."""
        writer, _ = self._writer(query, source, {"maxOffsetsPerTrigger": str(batch)})
        began = time.monotonic()
        writer.trigger(availableNow=True).start().awaitTermination()
        return time.monotonic() - began

    def real_time(self, query: str, source: str, records: int, *, delivery: str = "at-least-once") -> float | None:
        """Returns how many seconds it took; none if it took too long. Each record has one result."""
        writer, sink = self._writer(query, source, {})
        writer = writer.option("delivery", delivery)
        began = time.monotonic()
        running = writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload] # PySpark's types lack it
        try:
            while sum(partition.latest for partition in self._topics.describe(sink).partitions) < records:
                if time.monotonic() - began > PATIENCE_S:
                    return None
                time.sleep(0.1)
            return time.monotonic() - began
        finally:
            running.stop()

    def _writer(self, query: str, source: str, options: dict[str, str]) -> tuple[DataStreamWriter, str]:
        self._runs += 1
        sink = f"out-{self._runs}"
        self._topics.create(sink, partitions=PARTITIONS)
        kafka = {"kafka.bootstrap.servers": self._bootstrap}
        records = self._spark.readStream.format("kafka").options(**kafka, subscribe=source, **options)
        rows = QUERIES[query](records.option("startingOffsets", "earliest").load())
        writer = rows.writeStream.format("kafka").options(**kafka, topic=sink).outputMode("update")
        return writer.option("checkpointLocation", str(self._folder / sink)), sink


def main() -> int:
    """Measures and writes the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--query", nargs="*", choices=QUERIES, default=tuple(QUERIES))
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Broker() as broker:
        # As many slots as real-time mode needs on two processors; no micro-batch of two partitions uses more at once.
        conf = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4"}
        spark = headrace.session("catch-up", master="local[8]", conf=conf)
        measurement = Measurement(spark, broker.bootstrap, Path(folder))
        measurement.fill("few", WARM_UP)
        measurement.fill("old", arguments.records)
        cells = [cell for query in arguments.query for cell in _cells(measurement, query, arguments.records)]
        spark.stop()
    _write(arguments, cells)
    return 0


def _cells(measurement: Measurement, query: str, records: int) -> list[dict[str, Any]]:
    measurement.micro_batches(query, "few", WARM_UP)
    measurement.real_time(query, "few", WARM_UP)
    found: list[tuple[str, float | None]] = [
        (f"micro-batches of {batch:,}", measurement.micro_batches(query, "old", batch)) for batch in BATCHES
    ]
    found.append(("real time", measurement.real_time(query, "old", records)))
    cells = []
    for way, seconds in found:
        rate = None if seconds is None else round(records / seconds)
        print(f"{query}, {way}: {seconds} s, {rate} a second", file=sys.stderr, flush=True)
        cells.append({"query": query, "way": way, "seconds": seconds and round(seconds, 1), "records_a_second": rate})
    return cells


def _write(arguments: argparse.Namespace, cells: list[dict[str, Any]]) -> None:
    whole = {
        "format": 1,
        "when": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": machine.commit(),
        "machine": machine.description(),
        "records": arguments.records,
        "partitions": PARTITIONS,
        "cells": cells,
    }
    arguments.out.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
