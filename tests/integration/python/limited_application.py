# SPDX-License-Identifier: Apache-2.0
"""Calls a function in workers with limits, until it is greedy; prints what became of it.

Started by ``test_manners.py``: how workers are started and what they may take is settled when Spark starts.
"""

from __future__ import annotations

import json
import os
import sys

from pyspark import cloudpickle
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

import headrace
from headrace.testing import Kafka, eventually
from tests.integration.streams import PATIENCE, Bench, await_epochs, start_real_time

EPOCHS = 3
MIB = 1024 * 1024

# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def greedy(value: str) -> str:
    """Says who ran it; takes more than a worker may have if it is asked to."""
    taken = bytes(8192 * MIB) if value == "more" else b""
    return f"{os.getpid()}{taken[:0].decode()}"


def main(bootstrap: str, folder: str) -> None:
    """Sends a record to each epoch, and then the one that is too much."""
    conf = {
        "spark.ui.enabled": "false",
        "spark.python.worker.reuse": "false",
        "spark.executor.pyspark.memory": "4g",
        # Each epoch with a task, and so with a worker, of its own.
        "spark.headrace.realtime.epoch": "1s",
    }
    spark = headrace.session("limits", master="local[4]", conf=conf)
    bench = Bench(spark, Kafka(bootstrap), folder)
    source, sink = bench.kafka.topic("source", partitions=1), bench.kafka.topic("sink", partitions=1)
    rows = bench.read(source).select(F.udf(greedy, "string")(F.col("value").cast("string")).alias("value"))
    query = start_real_time(bench.write(rows, sink), "1 second")
    for number in range(1, EPOCHS + 1):
        bench.kafka.produce(source, ["little"])
        bench.kafka.read_until(sink, number, timeout=PATIENCE)
        await_epochs(query, 2)
    bench.kafka.produce(source, ["more"])
    eventually(lambda: query.exception() is not None, PATIENCE)
    outcome = {
        "workers": len(set(bench.kafka.values(sink))),
        "epochs": EPOCHS,
        "error": str(query.exception()),
        "record": f"{source}-0@{EPOCHS}",
    }
    spark.stop()
    print(json.dumps(outcome))


if __name__ == "__main__":
    main(*sys.argv[1:])
