# SPDX-License-Identifier: Apache-2.0
"""Harms applications at random times and counts what is lost and what is repeated.

python -m tests.failure.soak --kills 100 --seed 7 --out soak.json
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.local import Broker
from headrace.local.ports import HOST, free_ports
from headrace.testing import Kafka, eventually
from tests.failure.copies import Copies
from tests.failure.soak import harms
from tests.failure.soak.proxy import Proxy
from tests.failure.soak.traffic import PARTITIONS, Feeder, Watch
from tests.failure.soak.verdict import Harmed, Verdict, judge
from tests.integration.recorded import PATIENCE

if TYPE_CHECKING:
    from tests.failure.soak.harms import Harm

ROUND = 5
"""So many harms to one mode, then comes the next."""
LONGEST_PEACE_S = 4.0


@dataclass(frozen=True, slots=True)
class Mode:
    """An application and what is done to it."""

    words: tuple[str, ...]
    harms: tuple[Harm, ...]
    master: str = "local[4]"

    @property
    def name(self) -> str:
        return " ".join((*self.words, "on a cluster" if "cluster" in self.master else "")).strip() or "plain"

    @property
    def is_exactly_once(self) -> bool:
        return "exactly-once" in self.words


_ALWAYS = (harms.kill_driver, harms.kill_broker, harms.pause_broker, harms.cut_connections)
_REAL_TIME = (*_ALWAYS, harms.replace_while_away)
_PYTHON = (harms.kill_driver, harms.kill_worker, harms.pause_worker, harms.cut_connections)
_EXECUTORS = (harms.kill_executor, harms.pause_executor)
CLUSTER = "local-cluster[2,2,1024]"
MODES = (
    Mode((), _REAL_TIME),
    Mode(("exactly-once",), _REAL_TIME),
    Mode(("exactly-once", "python"), _PYTHON),
    Mode(("python",), _PYTHON),
    Mode(("exactly-once", "micro-batch"), (harms.kill_driver,)),
    Mode(("exactly-once",), _EXECUTORS, CLUSTER),
    Mode((), _EXECUTORS, CLUSTER),
)


def torment(mode: Mode, number: int, cluster: harms.Cluster, chance: random.Random, *, rate: int) -> Verdict:
    """Starts an application, harms it so many times, and looks at what came out."""
    kafka = Kafka(cluster.broker.bootstrap)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        copies = Copies(kafka, Path(folder), *mode.words, partitions=PARTITIONS, master=mode.master)
        feeder = Feeder(kafka, copies.source, rate=rate)
        watch = Watch(kafka, copies.sink, committed=mode.is_exactly_once)
        done: list[tuple[Harmed, float]] = []
        try:
            watch.start()
            feeder.start()
            patient = harms.Patient(copies, feeder, watch, cluster, chance)
            patient.await_more()
            for _ in range(number):
                time.sleep(chance.uniform(0.2, LONGEST_PEACE_S))
                harm = chance.choice(mode.harms)
                at = time.monotonic()
                harm(patient)
                target = len(feeder.times)
                patient.await_number(target)
                back = round(watch.seen[target] - at, 2)
                name = harm.__name__
                done.append((Harmed(name=name, sent=patient.sent, recorded=patient.recorded, recovery_s=back), at))
                _say(f"  {harm.__name__}: {back} s")
            feeder.stop()
            # A drain finishes what was read; the partitions may be at different places.
            for last in range(len(feeder.times) - PARTITIONS, len(feeder.times)):
                patient.await_number(last)
            patient.run.terminate()
            patient.await_end()
            patient.note()
            # What comes out behind everything that was sent is a repetition.
            everything = kafka.values(copies.sink, committed=mode.is_exactly_once)
            eventually(lambda: len(watch.numbers) >= len(everything), PATIENCE)
        except BaseException:
            sys.stderr.write(copies.log()[-5000:])
            raise
        finally:
            copies.end()
            watch.stop()
        return judge(mode.name, watch, len(feeder.times), done, patient.recorded)


def main() -> int:
    """Runs as long as asked; 1 if a promise was broken."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="how many harms in all (default: %(default)s)")
    parser.add_argument(
        "--seed", type=int, default=1, help="of the choice and the times of harms (default: %(default)s)"
    )
    parser.add_argument("--rate", type=int, default=200, help="records a second (default: %(default)s)")
    names = [mode.name for mode in MODES]
    parser.add_argument("--mode", nargs="+", choices=names, default=names, help="what is harmed (default: all)")
    parser.add_argument("--out", type=Path, help="where to write the verdicts, as JSON")
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)  # noqa: S311 it must be possible to repeat it
    modes = [mode for mode in MODES if mode.name in arguments.mode]
    verdicts: list[Verdict] = []
    kept = True
    left = arguments.kills
    port, way = free_ports(2)
    proxy = Proxy(way, port)
    with Broker(port=port, settings={"advertised.listeners": f"PLAINTEXT://{HOST}:{way}"}) as broker:
        while left > 0:
            mode = modes[len(verdicts) % len(modes)]
            _say(f"{mode.name}, {left} harms left")
            verdict = torment(mode, min(ROUND, left), harms.Cluster(broker, proxy), chance, rate=arguments.rate)
            kept &= verdict.is_kept(exactly_once=mode.is_exactly_once)
            verdicts.append(verdict)
            left -= ROUND
            _say(_line(verdict))
            if arguments.out is not None:
                result = {"seed": arguments.seed, "rate": arguments.rate, "rounds": [asdict(one) for one in verdicts]}
                arguments.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    _say(
        f"{arguments.kills} harms, {sum(one.records for one in verdicts)} records, "
        f"{sum(one.lost for one in verdicts)} lost: {'all promises kept' if kept else 'A PROMISE WAS BROKEN'}"
    )
    return 0 if kept else 1


def _line(verdict: Verdict) -> str:
    recoveries = sorted(harm.recovery_s for harm in verdict.harms)
    return (
        f"{verdict.mode}: {len(verdict.harms)} harms, {verdict.records} records, {verdict.lost} lost, "
        f"{verdict.unread} unread, "
        f"{verdict.repeated} repeated (oldest {verdict.oldest_repeated_s} s, {verdict.unexplained} unexplained), "
        f"{verdict.disorder} out of order, back after {recoveries[len(recoveries) // 2]} s (at most {recoveries[-1]} s)"
    )


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
