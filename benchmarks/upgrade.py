# SPDX-License-Identifier: Apache-2.0
"""How long a rolling upgrade pauses: an application is drained under load, and started again on its checkpoint.

The pause is the longest time between two results in the topic. What is already in the result file is replaced.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from harness import machine

from headrace.local import Broker, Reader, Record, Topics, Writer

OUT = Path(__file__).parent / "results" / "upgrade.json"
COPIER = Path(__file__).parents[1] / "tests" / "failure" / "copier.py"
SUPERVISE = (sys.executable, "-m", "headrace.cli.main", "run", "--supervise", "--conf", "spark.ui.enabled=false")
RATE = 100
SETTLED_S = 30


def main() -> int:
    """Measures once and writes the result file."""
    busy = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, Broker() as broker:
        topics = Topics(broker.bootstrap)
        for topic in ("in", "out"):
            topics.create(topic, partitions=1)
        ended = threading.Event()
        load = threading.Thread(target=_load, args=(broker.bootstrap, ended))
        load.start()
        command = [*SUPERVISE, str(COPIER), broker.bootstrap, "in", "out", f"{folder}/checkpoint", "10m"]
        with subprocess.Popen(command) as old:
            _await_more(topics)
            old.terminate()
            began = time.monotonic()
            old.wait()
            drained_s = time.monotonic() - began
        with subprocess.Popen(command) as new:
            _await_more(topics)
            new.terminate()
        ended.set()
        load.join()
        results = _results(broker.bootstrap)
    _write(results, drained_s, (busy, os.getloadavg()[0]))
    return 0


def _load(bootstrap: str, ended: threading.Event) -> None:
    writer = Writer(bootstrap)
    for number in itertools.count():
        if ended.wait(1 / RATE):
            break
        writer.write("in", Record(value=str(number).encode()))
    writer.flush()


def _await_more(topics: Topics) -> None:
    """Waits for the first new result, and then until what had waited is done and the JVM is warm."""
    before = topics.describe("out").partitions[0].latest
    while topics.describe("out").partitions[0].latest == before:
        time.sleep(0.1)
    time.sleep(SETTLED_S)


def _results(bootstrap: str) -> list[Record]:
    results: list[Record] = []
    with contextlib.closing(Reader(bootstrap, "out")) as reader:
        while not reader.at_end:
            results += reader.poll()
    return results


def _write(results: list[Record], drained_s: float, busy: tuple[float, float]) -> None:
    times = [record.timestamp_ms or 0 for record in results]
    whole = {
        "format": 1,
        "when": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": machine.commit(),
        "machine": machine.description(),
        # Before and after, of the last minute: other work on the machine makes every start longer.
        "load_average": [round(load, 1) for load in busy],
        "rate": RATE,
        "results": len(results),
        "doubled": len(results) - len({record.value for record in results}),
        "missing": max(int(record.value or 0) for record in results) + 1 - len({record.value for record in results}),
        "drain_and_end_s": round(drained_s, 1),
        "pause_s": round(max(later - earlier for earlier, later in itertools.pairwise(times)) / 1000, 1),
    }
    print(json.dumps(whole, indent=1))
    OUT.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
