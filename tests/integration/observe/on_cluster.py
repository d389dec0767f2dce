# SPDX-License-Identifier: Apache-2.0
"""Runs a query on two executors and prints what the board tells of it, as JSON. Started by ``test_cluster.py``."""

from __future__ import annotations

import json
import sys

import headrace
from headrace.engine import gateway
from headrace.local import Record
from headrace.testing import Kafka
from tests.integration.observe.shapes import in_python_behind_a_shuffle
from tests.integration.observe.watching import await_observed, count_of
from tests.integration.probes import with_probes
from tests.integration.streams import Bench, start_real_time

COUNT = 200


def main(bootstrap: str, folder: str) -> None:
    """Measures records on their way through both executors."""
    conf = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "3"}
    spark = headrace.session("observed", master="local-cluster[2,4,1024]", conf=with_probes(conf))
    bench = Bench(spark, Kafka(bootstrap), folder)
    source, sink = bench.kafka.topic("source", partitions=4), bench.kafka.topic("sink")
    query = start_real_time(bench.write(in_python_behind_a_shuffle(bench.read(source)), sink))
    bench.kafka.produce(source, [Record(key=str(number).encode(), value=b"") for number in range(COUNT)])
    found = await_observed(query, lambda found: count_of(found, "end_to_end") >= COUNT)
    executors = [executor["id"] for executor in json.loads(gateway.observed())["executors"]]
    # Before the epoch has ended.
    assert query.lastProgress is None
    query.stop()
    spark.stop()
    print(json.dumps({"query": found, "executors": executors}))


if __name__ == "__main__":
    main(*sys.argv[1:])
