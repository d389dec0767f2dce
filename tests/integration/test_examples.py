# SPDX-License-Identifier: Apache-2.0
"""The programs under examples/, run by `headrace run` as a user would."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.testing import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.testing import Kafka

EXAMPLES = Path(__file__).parents[2] / "examples"
PATIENCE = timedelta(minutes=4)
pytestmark = pytest.mark.timeout(600)


@contextmanager
def running(script: str, *arguments: str, folder: Path) -> Iterator[None]:
    """Runs an example until the block ends; then Ctrl-C has to end it."""
    log = folder / f"{script}.log"
    with log.open("ab") as output:
        program = subprocess.Popen(
            [sys.executable, "-m", "headrace.cli.main", "run", str(EXAMPLES / script), *arguments],
            cwd=folder,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield
        assert program.poll() is None, log.read_text()
        program.send_signal(signal.SIGINT)
        program.wait(PATIENCE.total_seconds())
    except BaseException:
        print(log.read_text())
        raise
    finally:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()


def commits(checkpoint: Path) -> set[str]:
    """Returns the epochs that a checkpoint holds as finished."""
    return {path.name for path in (checkpoint / "commits").glob("[0-9]*")}


def test_kafka_to_kafka_switches_its_trigger_and_goes_on(kafka: Kafka, tmp_path: Path) -> None:
    source, target = kafka.topic("words"), kafka.topic("loud-words")
    checkpoint = tmp_path / "checkpoint"
    topics = ("--source", source, "--target", target)
    arguments = ("--bootstrap", kafka.bootstrap, *topics, "--checkpoint", str(checkpoint))

    kafka.produce(source, ["one", "two"])
    with running("kafka_to_kafka.py", *arguments, "--mode", "micro-batch", folder=tmp_path):
        kafka.read_until(target, 2, timeout=PATIENCE)
        finished = eventually(lambda: commits(checkpoint), PATIENCE)

    kafka.produce(source, ["three", "four"])
    with running("kafka_to_kafka.py", *arguments, "--mode", "real-time", folder=tmp_path):
        records = kafka.read_until(
            target, lambda records: {b"THREE", b"FOUR"} <= {record.value for record in records}, timeout=PATIENCE
        )
        # The epoch lasts five minutes, and its results are here.
        assert commits(checkpoint) == finished
    assert {record.value for record in records} == {b"ONE", b"TWO", b"THREE", b"FOUR"}


def test_fraud_raises_alerts_before_the_epoch_ends(kafka: Kafka, tmp_path: Path) -> None:
    transactions, alerts = kafka.topic("transactions"), kafka.topic("alerts")
    checkpoint = tmp_path / "checkpoint"
    topics = ("--transactions", transactions, "--alerts", alerts)
    arguments = ("--bootstrap", kafka.bootstrap, *topics, "--checkpoint", str(checkpoint))
    honest = {"amount": 42.0, "usual_amount": 40.0, "category": "grocery", "country": "DE", "home": "DE"}
    stolen = {"amount": 950.0, "usual_amount": 40.0, "category": "jewellery", "country": "NZ", "home": "DE"}

    with running("fraud.py", *arguments, folder=tmp_path):
        for n in itertools.count():
            before = commits(checkpoint)
            pair = ({"card": f"honest-{n}", **honest}, {"card": f"stolen-{n}", **stolen})
            kafka.produce(transactions, [json.dumps(transaction) for transaction in pair])
            kafka.read_until(alerts, n + 1, timeout=PATIENCE)
            # An epoch may end between these two lines; it cannot do so every time.
            if n > 0 and commits(checkpoint) == before:
                break

    found = {record.key: json.loads(record.value or b"") for record in kafka.read(alerts)}
    assert found == {
        f"stolen-{each}".encode(): {"card": f"stolen-{each}", "amount": 950.0, "category": "jewellery", "risk": 1.1}
        for each in range(n + 1)
    }
