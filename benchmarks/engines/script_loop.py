# SPDX-License-Identifier: Apache-2.0
"""The workloads that are one function, as the shortest program that runs them: it consumes, calls and produces."""

from __future__ import annotations

import argparse
import json
import os
import threading
from typing import Any, TypeAlias

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from workloads.catalog import SMALLEST_CENTS, score

Value: TypeAlias = dict[str, Any]


def stateless(value: Value) -> Value | None:
    """Drops small payments and computes a fee."""
    return {"id": value["id"], "fee": value["cents"] * 3} if value["cents"] > SMALLEST_CENTS else None


def udf(value: Value) -> Value | None:
    """Calls a function."""
    return {"id": value["id"], "score": score(value["cents"])}


WORKLOADS = {"stateless": stateless, "udf": udf}


def main() -> None:
    """Runs a workload until standard input ends or SIGTERM comes."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("bootstrap", "source", "sink"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--workload", required=True, choices=WORKLOADS)
    parser.add_argument("--partitions", required=True, type=int)
    arguments = parser.parse_args()
    threading.Thread(target=_end_with_input, daemon=True).start()
    consumer = Consumer(
        {
            "bootstrap.servers": arguments.bootstrap,
            "group.id": arguments.sink,  # Demanded by the client; nothing is committed to it.
            "enable.auto.commit": False,
        }
    )
    producer = Producer({"bootstrap.servers": arguments.bootstrap, "linger.ms": 0})
    consumer.assign(
        [TopicPartition(arguments.source, partition, OFFSET_BEGINNING) for partition in range(arguments.partitions)]
    )
    call = WORKLOADS[arguments.workload]
    while True:
        message = consumer.poll(1)
        if message is None:
            continue
        if error := message.error():
            raise KafkaException(error)
        value = message.value()
        assert value is not None
        answer = call(json.loads(value))
        if answer is not None:
            producer.produce(arguments.sink, key=message.key(), value=json.dumps(answer))
        producer.poll(0)


def _end_with_input() -> None:
    while os.read(0, 1024):
        pass
    # At once, from whatever the loop is doing: there is nothing to finish.
    os._exit(0)


if __name__ == "__main__":
    main()
