# SPDX-License-Identifier: Apache-2.0
"""What can be done to a running application."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.testing import eventually
from tests.integration.recorded import PATIENCE

if TYPE_CHECKING:
    import random
    import subprocess
    from collections.abc import Callable

    from headrace.local import Broker
    from tests.failure.copies import Copies
    from tests.failure.soak.proxy import Proxy
    from tests.failure.soak.traffic import Feeder, Watch

    Harm = Callable[["Patient"], None]


LONGEST_AWAY_S = 5.0
"""Shorter than the time after which brokers give up a transaction."""
EXECUTOR = "CoarseGrainedExecutorBackend"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A broker, and the only way to it that it tells its clients."""

    broker: Broker
    proxy: Proxy


class Patient:
    """An application that is harmed and goes on.

    Attributes:
        recorded: The next offset of each partition that was recorded when it was last harmed.
        sent: How many records had been sent by then; later ones it cannot have written before.
    """

    def __init__(self, copies: Copies, feeder: Feeder, watch: Watch, cluster: Cluster, chance: random.Random) -> None:
        self.broker, self.proxy, self.chance = cluster.broker, cluster.proxy, chance
        self._copies, self._feeder, self._watch = copies, feeder, watch
        self.run = copies.start()
        self.recorded: tuple[int, ...] = ()
        self.sent = 0

    def note(self) -> None:
        """Keeps what is recorded now, and what was sent."""
        self.recorded = self._copies.all_recorded()
        self.count()

    def count(self) -> None:
        """Keeps how many records have been sent."""
        self.sent = len(self._feeder.times)

    def again(self) -> None:
        """Starts the application anew."""
        self.note()
        self.run = self._copies.start()

    def await_more(self) -> None:
        """Waits until something new has come out."""
        count = len(self._watch.numbers)
        eventually(lambda: len(self._watch.numbers) > count, PATIENCE * 2)

    def await_number(self, number: int) -> None:
        """Waits until a number has come out. An application that ends meanwhile is started again."""
        eventually(lambda: number in self._watch.seen or self._is_over(), PATIENCE * 2)
        if number not in self._watch.seen:
            self.again()
            eventually(lambda: number in self._watch.seen, PATIENCE * 2)

    def await_end(self) -> None:
        eventually(self._is_over, PATIENCE * 2)

    def _is_over(self) -> bool:
        return self.run.poll() is not None


def kill_driver(patient: Patient) -> None:
    """The application and all its processes at once, as when a machine is lost."""
    os.killpg(patient.run.pid, signal.SIGKILL)
    patient.run.wait()
    patient.again()


def kill_worker(patient: Patient) -> None:
    """One Python worker; the query fails, and with it the application."""
    os.kill(patient.chance.choice(_processes(patient.run, "daemon")), signal.SIGKILL)
    patient.await_end()
    patient.again()


def kill_executor(patient: Patient) -> None:
    """One executor of a cluster; Spark starts another, and its task again, inside the epoch."""
    # Before it: the others, and Spark's next attempt, go on recording at once.
    patient.note()
    os.kill(patient.chance.choice(_processes(patient.run, EXECUTOR)), signal.SIGKILL)
    patient.count()


def kill_broker(patient: Patient) -> None:
    """The only broker; it is back as soon as it can be, and the application has waited."""
    patient.broker.kill()
    patient.broker.start()
    patient.note()


def pause_broker(patient: Patient) -> None:
    """As a broker that collects garbage for long, or a machine that swaps."""
    broker = patient.broker.pid
    assert broker is not None
    _pause(patient, broker)


def cut_connections(patient: Patient) -> None:
    """All connections of everybody to the broker, and no new ones for a while."""
    patient.proxy.cut()
    time.sleep(patient.chance.uniform(0.1, LONGEST_AWAY_S))
    patient.proxy.mend()
    patient.note()


def pause_worker(patient: Patient) -> None:
    """One Python worker, which then goes on as if nothing had been."""
    _pause(patient, patient.chance.choice(_processes(patient.run, "daemon")))


def pause_executor(patient: Patient) -> None:
    """One executor, for less time than Spark takes to give it up."""
    _pause(patient, patient.chance.choice(_processes(patient.run, EXECUTOR)))


def replace_while_away(patient: Patient) -> None:
    """The application stands still, another takes over, and then the first one goes on."""
    away = patient.run
    os.killpg(away.pid, signal.SIGSTOP)
    patient.again()
    patient.await_more()
    os.killpg(away.pid, signal.SIGCONT)
    eventually(lambda: away.poll() is not None, PATIENCE * 2)


def _pause(patient: Patient, process: int) -> None:
    os.kill(process, signal.SIGSTOP)
    time.sleep(patient.chance.uniform(0.5, LONGEST_AWAY_S))
    os.kill(process, signal.SIGCONT)
    patient.note()


def _processes(run: subprocess.Popen[bytes], word: str) -> list[int]:
    """The processes of an application that have a word in their command; those that others came from are left out."""
    found: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        # It may be gone before it is looked at.
        with contextlib.suppress(OSError):
            # The name before the bracket may hold anything.
            _, parent, _, session, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(session) == run.pid and word in (folder / "cmdline").read_text():
                found[int(folder.name)] = int(parent)
    return sorted(found.keys() - found.values()) or sorted(found)
