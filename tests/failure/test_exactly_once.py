# SPDX-License-Identifier: Apache-2.0
"""Exactly-once delivery survives crashes: at each point of its protocol, and when two runs meet."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

import pytest

from headrace.testing import eventually
from tests.failure.copies import Copies
from tests.integration.recorded import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.testing import Kafka

pytestmark = pytest.mark.timeout(300)
ONCE = "exactly-once"
VALUES = [f"value {number}" for number in range(200)]


# On this machine an application takes ten seconds to start: some combinations are for `make soak`.
@pytest.mark.parametrize(
    ("point", "epoch", "words"),
    [
        pytest.param("transaction-due:3", "10m", (), marks=pytest.mark.soak),
        ("transaction-sent:3", "10m", ("python",)),
        pytest.param("transaction-sent:3", "10m", (), marks=pytest.mark.soak),
        pytest.param("transaction-committed:3", "10m", ("python",), marks=pytest.mark.soak),
        pytest.param("epoch-written:1", "2s", (), marks=pytest.mark.soak),
        pytest.param("epoch-recorded:1", "2s", (), marks=pytest.mark.soak),
        pytest.param("transaction-sent:2", "10m", ("micro-batch",), marks=pytest.mark.soak),
        pytest.param("epoch-recorded:2", "10m", ("micro-batch",), marks=pytest.mark.soak),
    ],
)
def test_a_crash_loses_nothing_and_repeats_nothing(
    copies: Copies, point: str, epoch: str, words: tuple[str, ...]
) -> None:
    run = copies.start(ONCE, *words, epoch=epoch, crash=point)
    sent = copies.feed(run, VALUES, committed=True)
    copies.start(ONCE, *words)
    copies.kafka.produce(copies.source, ["last"])
    counts = copies.await_all([*VALUES[:sent], "last"], committed=True)
    assert set(counts.values()) == {1}


@pytest.fixture
def tried_again(kafka: Kafka, tmp_path: Path) -> Iterator[Copies]:
    """Runs whose tasks Spark tries four times, as on a cluster."""
    made = Copies(kafka, tmp_path, master="local[4,4]")
    yield made
    made.end()


def test_a_run_that_was_away_can_write_nothing_when_it_comes_back(tried_again: Copies) -> None:
    """The one that was started meanwhile has taken over; the other ends and says by whom, however often it is tried."""
    copies = tried_again
    away = copies.start(ONCE)
    copies.kafka.produce(copies.source, ["a", "b"])
    copies.await_all(["a", "b"], committed=True)
    # While it writes this, another run would take the file away from it, and that would end it before it is fenced.
    eventually(lambda: copies.committed(0), PATIENCE * 2)
    os.killpg(away.pid, signal.SIGSTOP)
    copies.start(ONCE)
    copies.kafka.produce(copies.source, ["c", "d"])
    copies.await_all(["c", "d"], committed=True)
    eventually(lambda: copies.committed(1), PATIENCE * 2)
    os.killpg(away.pid, signal.SIGCONT)
    copies.kafka.produce(copies.source, ["e"])
    eventually(lambda: away.poll() is not None, PATIENCE * 2)
    assert "CHECKPOINT_TAKEN_OVER" in copies.log()
    copies.kafka.produce(copies.source, ["f"])
    counts = copies.await_all(["a", "b", "c", "d", "e", "f"], committed=True)
    assert set(counts.values()) == {1}
    # Nobody has shut out the successor, not even for a moment.
    assert len(set(re.findall(r"Run (\S+) on \S+ has taken over", copies.log()))) == 1
