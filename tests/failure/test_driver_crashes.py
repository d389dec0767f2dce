# SPDX-License-Identifier: Apache-2.0
"""Progress survives crashes: at each point of its protocol the driver is ended as by kill -9, and started again."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import psutil
import pytest

from headrace.local import Broker
from headrace.testing import Kafka, eventually
from tests.failure.copies import Copies
from tests.integration.recorded import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(300)


# On this machine an application takes ten seconds to start: some combinations are for `make soak`.
@pytest.mark.parametrize(
    ("point", "epoch", "words"),
    [
        pytest.param("progress-due:2", "10m", (), marks=pytest.mark.soak),
        ("progress-sent:2", "10m", ("python",)),
        pytest.param("progress-recorded:2", "10m", (), marks=pytest.mark.soak),
        pytest.param("epoch-written:1", "2s", (), marks=pytest.mark.soak),
        pytest.param("epoch-recorded:1", "2s", ("python",), marks=pytest.mark.soak),
    ],
)
def test_a_crash_loses_nothing_and_repeats_only_what_was_not_recorded(
    copies: Copies, point: str, epoch: str, words: tuple[str, ...]
) -> None:
    values = [f"value {number}" for number in range(200)]
    sent = copies.feed(copies.start(*words, epoch=epoch, crash=point), values)
    before = copies.recorded()
    copies.start(*words, epoch="10m")
    copies.kafka.produce(copies.source, ["last"])
    counts = copies.await_all([*values[:sent], "last"])
    # Offsets and values have the same numbers here.
    assert all(counts[values[number].encode()] == 1 for number in range(max(before, 0)))
    assert before <= sent


@pytest.mark.soak
def test_a_run_that_was_away_can_do_nothing_when_it_comes_back(copies: Copies) -> None:
    """The one that was started meanwhile has taken over, even if it has recorded nothing since; the other says so."""
    away = copies.start()
    copies.kafka.produce(copies.source, ["a", "b"])
    eventually(lambda: copies.recorded() == 2, PATIENCE * 2)
    eventually(lambda: copies.committed(0), PATIENCE * 2)
    os.killpg(away.pid, signal.SIGSTOP)
    copies.start("seldom")
    copies.kafka.produce(copies.source, ["c", "d", "e"])
    copies.await_all(["c", "d", "e"])
    os.killpg(away.pid, signal.SIGCONT)
    eventually(lambda: away.poll() is not None, PATIENCE * 2)
    assert "CHECKPOINT_TAKEN_OVER" in copies.log()
    copies.kafka.produce(copies.source, ["f"])
    counts = copies.await_all(["a", "b", "c", "d", "e", "f"])
    assert set(counts.values()) == {1}


@pytest.mark.parametrize(
    "words",
    [pytest.param((), id="at-least-once", marks=pytest.mark.soak), pytest.param(("exactly-once",), id="exactly-once")],
)
def test_a_run_that_stood_still_between_epochs_does_not_shut_out_its_successor(
    copies: Copies, words: tuple[str, ...]
) -> None:
    """It comes back with an epoch to end, with a log that its successor wants to write, and one to begin."""
    away = copies.start(*words, epoch="1s", crash="epoch-recorded:1:still")

    def stands_still() -> bool:
        try:
            children = psutil.Process(away.pid).children(recursive=True)
            return any(child.status() == psutil.STATUS_STOPPED for child in children)
        except psutil.NoSuchProcess:
            # One that has ended while it was looked at.
            return False

    eventually(stands_still, PATIENCE * 2)
    successor = copies.start(*words)
    copies.kafka.produce(copies.source, ["a", "b"])
    copies.await_all(["a", "b"], committed=True)
    os.killpg(away.pid, signal.SIGCONT)
    eventually(lambda: away.poll() is not None, PATIENCE * 2)
    assert "CHECKPOINT_TAKEN_OVER" in copies.log()
    copies.kafka.produce(copies.source, ["c"])
    counts = copies.await_all(["a", "b", "c"], committed=True)
    assert set(counts.values()) == {1}
    assert successor.poll() is None


def test_a_run_that_stood_still_in_a_transaction_does_not_shut_out_its_successor(tmp_path: Path) -> None:
    """It is back in the middle of a call that has taken too long, and would try again with a new producer."""
    with Broker() as broker:
        kafka = Kafka(broker.bootstrap)
        copies = Copies(kafka, tmp_path)
        try:
            away = copies.start()
            kafka.produce(copies.source, ["a"])
            eventually(lambda: copies.recorded() == 1, PATIENCE * 2)
            kafka.produce(copies.source, ["b"])
            copies.await_all(["a", "b"])
            eventually(lambda: copies.committed(0), PATIENCE * 2)
            # The answer to what it has asked, if it has, comes while it is away.
            os.kill(int(broker.pid or 0), signal.SIGSTOP)
            os.killpg(away.pid, signal.SIGSTOP)
            os.kill(int(broker.pid or 0), signal.SIGCONT)
            successor = copies.start()
            kafka.produce(copies.source, ["c"])
            eventually(lambda: copies.recorded() == 3, PATIENCE * 2)
            os.killpg(away.pid, signal.SIGCONT)
            kafka.produce(copies.source, ["d"])
            eventually(lambda: away.poll() is not None, PATIENCE * 2)
            assert "CHECKPOINT_TAKEN_OVER" in copies.log()
            kafka.produce(copies.source, ["e"])
            eventually(lambda: copies.recorded() == 5, PATIENCE)
            assert successor.poll() is None
        finally:
            copies.end()


def test_a_run_that_is_told_to_end_drains_its_queries(copies: Copies) -> None:
    """As Kubernetes, systemd and `kill` tell it."""
    run = copies.start()
    copies.kafka.produce(copies.source, ["a", "b", "c"])
    copies.await_all(["a", "b", "c"])
    copies.kafka.produce(copies.source, ["d"])
    run.terminate()
    eventually(lambda: run.poll() is not None, PATIENCE * 2)
    assert run.returncode == -signal.SIGTERM
    assert "is drained" in copies.log()
    copies.start()
    copies.kafka.produce(copies.source, ["e"])
    counts = copies.await_all(["a", "b", "c", "d", "e"])
    assert set(counts.values()) == {1}
