# SPDX-License-Identifier: Apache-2.0
"""Calls a function and a processor, and prints what they answer. Started by ``test_manners.py``.

How a JVM talks to its workers, and where its temporary files are, is settled when it starts.
"""

from __future__ import annotations

import json
import os
import sys

from pyspark import cloudpickle
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

import headrace
from headrace.local import Record
from headrace.testing import Kafka
from tests.integration.modes.shapes import known
from tests.integration.python import processors
from tests.integration.streams import PATIENCE, Bench, start_real_time

# Workers cannot import these files.
cloudpickle.register_pickle_by_value(sys.modules[__name__])
cloudpickle.register_pickle_by_value(processors)


def socket_of(_key: str) -> str:
    """Says over what kind of socket it was called."""
    return "local" if os.environ.get("PYTHON_UNIX_DOMAIN_ENABLED") == "True" else "TCP"


def main(bootstrap: str, checkpoint: str, temporary: str, is_local: str) -> None:
    """Sends one record through both."""
    conf = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={temporary}",
        "spark.python.unix.domain.socket.enabled": is_local,
    }
    spark = headrace.session("sockets", master="local[4]", conf=conf)
    bench = Bench(spark, Kafka(bootstrap), checkpoint)
    source, sink = bench.kafka.topic("source", partitions=1), bench.kafka.topic("sink", partitions=1)
    texts = bench.read(source).select(
        F.udf(socket_of, "string")(F.col("key").cast("string")).alias("key"),
        F.col("value").cast("string").alias("text"),
    )
    rows = texts.groupBy("key").transformWithState(processors.Running(), processors.OUTPUT, "update", "none")
    query = start_real_time(bench.write(rows, sink))
    bench.kafka.produce(source, [Record(key=b"any", value=b"one")])
    (answer,) = bench.kafka.read_until(sink, 1, timeout=PATIENCE)
    query.stop()
    spark.stop()
    print(json.dumps({"socket": known(answer.key).decode(), "answer": known(answer.value).decode()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
