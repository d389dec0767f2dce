# SPDX-License-Identifier: Apache-2.0
"""Asks a Spark that has never heard of Headrace to run what a check says cannot run, with Spark's own connector."""

from __future__ import annotations

import json
import sys
import tempfile

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.testing import Kafka
from tests.integration.check.verdicts import CANNOT, REFUSAL
from tests.integration.streams import PATIENCE, Bench, failure_of, start_real_time


def outcome(bench: Bench, name: str, topics: tuple[str, str, str]) -> str:
    """Starts a query; returns the condition with which it fails."""
    refusal = REFUSAL[name]
    first, second = bench.read(topics[0]), bench.read(topics[1])
    try:
        query = start_real_time(refusal.finish(bench.write(refusal.build(first, second), topics[2])), "5 seconds")
    except PySparkException as error:
        return error.getCondition() or type(error).__name__
    return failure_of(query)[0]


def prove_that_others_run(bench: Bench, source: str) -> None:
    """Waits for the results of a plain copy: else the failures of the others would say nothing about them."""
    control = bench.kafka.topic("control")
    query = start_real_time(bench.write(bench.read(source).select("key", "value"), control), "5 seconds")
    bench.kafka.read_until(control, 10, timeout=PATIENCE)
    query.stop()


def main(bootstrap: str, first: str, second: str, output: str) -> None:
    """Prints the condition of each."""
    spark = SparkSession.builder.master("local[16]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    with tempfile.TemporaryDirectory() as folder:
        prove_that_others_run(Bench(spark, Kafka(bootstrap), f"{folder}/control"), first)
        found = {
            name: outcome(Bench(spark, Kafka(bootstrap), f"{folder}/{number}"), name, (first, second, output))
            for number, name in enumerate(CANNOT)
        }
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
