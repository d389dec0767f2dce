# SPDX-License-Identifier: Apache-2.0
"""Whether the engine's own latency is true: compares it with a consumer's clock, for the same records.

A generator writes records with the time in them, at a steady rate; a consumer in a process of its own notes when each
result arrives. All queries run once before, so that their code is compiled; then each in a new run, which begins with
records that do not count. The engine tells the latency of the last ten seconds: before the records that count, there is
a pause of that length, and they take less. The run is added to the result file; those in it stay.
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

from confluent_kafka import Producer
from harness import machine
from harness.histogram import Histogram
from harness.own_process import OwnProcess
from harness.receiver import Receiver
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

import headrace
from headrace.engine import gateway
from headrace.local import Broker, Topics

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from harness.receiver import Stamped
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

OUT = Path(__file__).parent / "results" / "observe-truth.json"
KEYS = 100
PARTITIONS = 2
PATIENCE_S = 60
WARM_UP = 3000
LEAD = 400
MOST_SECONDS = 8
# What the issue allows: the engine's percentile is within 15 % or 3 ms of the consumer's.
SHARE, MS = 0.15, 3.0


def stateless(records: DataFrame) -> DataFrame:
    """Each record as it is."""
    return records.select("key", F.col("value"))


def aggregation(records: DataFrame) -> DataFrame:
    """The newest value of each key: that of the very record, because times only grow."""
    return records.groupBy("key").agg(F.max("value").alias("value"))


def python(records: DataFrame) -> DataFrame:
    """Each record through a Python function."""
    same = F.udf(lambda text: text, "string")
    return records.select("key", same(F.col("value").cast("string")).alias("value"))


QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "stateless": stateless,
    "aggregation": aggregation,
    "python": python,
}


class Source(OwnProcess):
    """Writes records with the time in them, for the length of a ``with`` block."""

    def __init__(self, bootstrap: str) -> None:
        """Takes the broker's address."""
        super().__init__(_write, bootstrap)

    def write(self, topic: str, rate: int, count: int) -> None:
        """Writes so many records, at so many a second; returns when they are written."""
        self._here.send((topic, rate, count))
        self._here.recv()


def _write(orders: Connection, bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "enable.idempotence": True})
    while True:
        topic, rate, count = orders.recv()
        began = time.time()
        for number in range(count):
            wait = began + number / rate - time.time()
            if wait > 0:
                time.sleep(wait)
            now = time.time()
            value = b"%016d" % int(now * 1e6)
            producer.produce(topic, key=b"%d" % (number % KEYS), value=value, timestamp=int(now * 1000))
            producer.poll(0)
        producer.flush()
        orders.send(None)


class Measurement:
    """One broker, one Spark, and a load that is the same for all queries."""

    def __init__(self, spark: SparkSession, bootstrap: str, source: Source, folder: str) -> None:
        self._spark, self._bootstrap, self._source, self._folder = spark, bootstrap, source, folder

    def warm_up(self, query: str, rate: int, count: int) -> None:
        """Runs a query over so many records."""
        running = self._start(f"{query}-first", query)
        self._source.write(f"{query}-first-in", rate, count)
        _await(lambda: _count(running.runId, "total") >= count)
        running.stop()

    def run(self, query: str, rate: int, count: int) -> dict[str, Any]:
        """Runs a query over so many records, at so many a second; returns what both clocks say of them."""
        running = self._start(query, query)
        with Receiver(self._bootstrap, [f"{query}-out"], partitions=PARTITIONS, read_committed=False) as receiver:
            self._source.write(f"{query}-in", rate, LEAD)
            _await(lambda: _count(running.runId, "total") >= LEAD)
            _await(lambda: _count(running.runId, "recent") == 0)
            receiver.take()
            self._source.write(f"{query}-in", rate, count)
            _await(lambda: _count(running.runId, "recent") >= count)
            inside = _observed(running.runId)["latency"]["recent"]
            time.sleep(1)
            received = receiver.take().get(f"{query}-out", [])
        running.stop()
        return {"query": query, **_compared(inside, received)}

    def _start(self, name: str, query: str) -> StreamingQuery:
        topics = Topics(self._bootstrap)
        for topic in (f"{name}-in", f"{name}-out"):
            topics.create(topic, partitions=PARTITIONS)
        kafka = {"kafka.bootstrap.servers": self._bootstrap}
        records = self._spark.readStream.format("kafka").options(**kafka, subscribe=f"{name}-in")
        rows = QUERIES[query](records.option("startingOffsets", "earliest").load())
        writer = rows.writeStream.format("kafka").options(**kafka, topic=f"{name}-out").outputMode("update")
        writer = writer.option("checkpointLocation", f"{self._folder}/{name}")
        started: StreamingQuery = writer.trigger(realTime="5 minutes").start()  # type: ignore[call-overload] # its types lack it
        return started


def _compared(inside: dict[str, Any], received: list[Stamped]) -> dict[str, Any]:
    outside = Histogram.of_ms(at * 1000 - int(value) / 1000 for at, value in received)
    told = {point: inside["end_to_end"][point] for point in ("p50", "p99", "max")}
    seen = {point: outside.at_ms(at) for point, at in (("p50", 50), ("p99", 99), ("max", 100))}
    return {
        "records": {"engine": inside["end_to_end"]["count"], "consumer": len(received)},
        "engine_ms": told,
        "consumer_ms": seen,
        "parts_p50_ms": {part: inside[part]["p50"] for part in ("queueing", "processing", "delivery")},
        "agrees": {point: abs(told[point] - seen[point]) <= max(MS, SHARE * seen[point]) for point in ("p50", "p99")},
    }


def main() -> int:
    """Measures and writes the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--seconds", type=int, choices=range(1, MOST_SECONDS + 1), default=MOST_SECONDS)
    parser.add_argument("--query", nargs="*", choices=QUERIES, default=tuple(QUERIES))
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    count = arguments.rate * arguments.seconds
    with tempfile.TemporaryDirectory() as folder, Broker() as broker, Source(broker.bootstrap) as source:
        conf = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
        spark = headrace.session("observe-truth", master="local[8]", conf=conf)
        measurement = Measurement(spark, broker.bootstrap, source, folder)
        for query in arguments.query:
            measurement.warm_up(query, arguments.rate, WARM_UP)
        cells = []
        for query in arguments.query:
            cells.append(measurement.run(query, arguments.rate, count))
            print(cells[-1], file=sys.stderr, flush=True)
        spark.stop()
    run = {
        "when": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": machine.commit(),
        "machine": machine.description(),
        "records_a_second": arguments.rate,
        "seconds": arguments.seconds,
        "partitions": PARTITIONS,
        "warm_up_records": WARM_UP,
        "cells": cells,
    }
    runs = json.loads(arguments.out.read_text(encoding="utf-8"))["runs"] if arguments.out.exists() else []
    arguments.out.write_text(json.dumps({"format": 1, "runs": [*runs, run]}, indent=1) + "\n", encoding="utf-8")
    return 0


def _observed(run: str) -> dict[str, Any]:
    queries = json.loads(gateway.observed())["queries"]
    found: dict[str, Any] = next((query for query in queries if query["run"] == run), {"state": None})
    return found


def _count(run: str, span: str) -> int:
    latency = _observed(run).get("latency")
    measured = None if latency is None else latency[span]["end_to_end"]
    return 0 if measured is None else int(measured["count"])


def _await(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            message = "the query did not come so far in time"
            raise TimeoutError(message)
        time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main())
