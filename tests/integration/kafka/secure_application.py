# SPDX-License-Identifier: Apache-2.0
"""An application that logs in with a password and logs all it can. Started by ``test_sasl_ssl.py``.

Standard input holds a JSON object: ``options`` of the secured listener, ``topic`` with ``count`` records, ``out``,
``again`` and ``folder``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headrace
from headrace.testing import eventually
from tests.integration.kafka.driver import client_ids, logging_to
from tests.integration.kafka.streams import PATIENCE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    # What nobody uses is looked for ten times a second, and is then too old.
    "spark.kafka.consumer.cache.timeout": "1ms",
    "spark.kafka.consumer.cache.evictorThreadRunInterval": "100ms",
    "spark.kafka.producer.cache.timeout": "1ms",
    "spark.kafka.producer.cache.evictorThreadRunInterval": "100ms",
    # Progress of the query comes with the end of an epoch.
    "spark.headrace.realtime.epoch": "0s",
}


def main() -> None:
    """Copies records from topic to topic, says all there is to say, and waits until no client is left."""
    task = json.load(sys.stdin)
    folder = task["folder"]
    spark = headrace.session("secure", master="local[4]", conf=SETTINGS | {"spark.eventLog.dir": folder})
    spark.sparkContext.setLogLevel("INFO")
    # The console of a PySpark application leaves out what is no warning, whatever the level.
    with logging_to(spark, Path(folder, "driver.log"), logger_name=""):
        copy(spark, task)
        eventually(lambda: not client_ids(spark, "consumer") | client_ids(spark, "producer"), PATIENCE)
    print("all clients are closed")
    spark.stop()


def copy(spark: SparkSession, task: dict[str, Any]) -> None:
    """Copies records as a stream, then in a batch, and shows plans and progress."""
    source = {**task["options"], "subscribe": task["topic"], "startingOffsets": "earliest"}
    rows = spark.readStream.format("kafka").options(**source).load().select("value")
    sink = {**task["options"], "topic": task["out"], "checkpointLocation": f"{task['folder']}/checkpoint"}
    trigger: dict[str, Any] = {"realTime": "5 seconds"}
    query = rows.writeStream.format("kafka").options(**sink).trigger(**trigger).outputMode("update").start()
    eventually(lambda: sum(progress.numInputRows for progress in query.recentProgress) == task["count"], PATIENCE)
    query.explain(extended=True)
    print(query.lastProgress, query.status, query.recentProgress)
    query.stop()
    batch = spark.read.format("kafka").options(**source).load().select("value")
    batch.explain(extended=True)
    batch.write.format("kafka").options(**task["options"], topic=task["again"]).save()


if __name__ == "__main__":
    main()
