# SPDX-License-Identifier: Apache-2.0
"""A listener that wants TLS and a password."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.testing import Kafka
from tests.integration.kafka.streams import Streams

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.local import Broker
    from tests.integration.kafka.streams import Options

ROOT = Path(__file__).parents[3]
VALUES = [b"card 4711", b"card 4712"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What an application left behind: its output, its files (logs, events, checkpoint), the records in its topics."""

    output: str
    files: str
    streamed: list[bytes | None]
    batched: list[bytes | None]


@pytest.fixture(scope="module")
def password(secure_broker: Broker) -> str:
    found = re.search(r'password="(\w+)"', secure_broker.sasl_ssl_options()["kafka.sasl.jaas.config"])
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def run(secure_broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of ``secure_application.py``, in a process of its own because of its logging."""
    kafka = Kafka(secure_broker.bootstrap)
    topic, out, again = kafka.topic(), kafka.topic("out", partitions=1), kafka.topic("again", partitions=1)
    kafka.produce(topic, VALUES)
    folder = tmp_path_factory.mktemp("secure")
    task = {
        "options": secure_broker.sasl_ssl_options(),
        "topic": topic,
        "count": len(VALUES),
        "out": out,
        "again": again,
        "folder": str(folder),
    }
    ended = subprocess.run(
        [sys.executable, "-m", "tests.integration.kafka.secure_application"],
        cwd=ROOT,
        input=json.dumps(task),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=110,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout[-5000:]
    files = "".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())
    return Run(output=ended.stdout, files=files, streamed=kafka.values(out), batched=kafka.values(again))


def test_a_round_trip_with_tls_and_password_leaks_no_secret(run: Run, password: str):
    """Records go through the secured listener, and the password is in no log, plan, progress or event."""
    assert sorted(run.streamed, key=str) == VALUES
    assert sorted(run.batched, key=str) == VALUES
    # Everything was logged that Spark and Kafka log, the clients' settings too.
    assert "ConsumerConfig values" in run.files
    assert "sasl.jaas.config = [hidden]" in run.files
    assert "SparkListenerJobStart" in run.files
    assert "Physical Plan" in run.output
    assert password not in run.output
    assert password not in run.files


def test_records_do_not_linger(run: Run):
    """Unless the user says otherwise, the producer waits for no company; Kafka's own default is 5 ms."""
    assert re.search(r"linger\.ms = 0\b", run.files)


def test_idle_clients_are_looked_for_as_often_as_asked(run: Run):
    """With short settings the clients of a stopped query are closed by themselves."""
    assert "all clients are closed" in run.output


def test_a_wrong_password_is_an_error(spark: SparkSession, secure_broker: Broker, password: str, tmp_path: Path):
    """A login that the brokers refuse fails the query with their reason, without the password."""
    streams = Streams(spark, Kafka(secure_broker.bootstrap), tmp_path)
    wrong = "not-the-password"
    options: Options = {name: text.replace(password, wrong) for name, text in secure_broker.sasl_ssl_options().items()}
    out = streams.kafka.topic("out")
    failure = streams.failure(streams.copy(out, subscribe=streams.kafka.topic(), **options))
    assert failure.condition == "KAFKA_ACCESS_DENIED"
    assert failure.parameters == {"servers": secure_broker.sasl_ssl_bootstrap}
    assert wrong not in failure.text
