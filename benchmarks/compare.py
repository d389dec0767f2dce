# SPDX-License-Identifier: Apache-2.0
"""Compares Headrace with stock real-time mode and a bare hop through the broker, in interleaved windows.

    .venv/bin/python benchmarks/compare.py --workload stateless --epoch "5 minutes" --rate 1000

All engines run at once and take turns under load, so that a noisy machine hurts all alike; each window's records are
counted, and the first windows of each engine, in which its JVM compiles, are thrown away.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness.load import Generator, Receiver, Window
from harness.percentiles import percentiles

from headrace.engine import ivy
from headrace.local import Broker, Topics

HERE = Path(__file__).parent
PARTITIONS = 2
KEYS = 100
FLOOR = "hop"


def main() -> int:
    """Measures, prints the table and writes the result file."""
    arguments = _arguments()
    folder = Path(tempfile.mkdtemp(prefix="headrace-bench-"))
    engines: dict[str, subprocess.Popen[bytes]] = {}
    try:
        with Broker() as broker:
            topics = Topics(broker.bootstrap)
            for name in (*arguments.engines, FLOOR):
                for topic in {f"{name}-in", f"{name}-out"}:
                    topics.create(topic, partitions=PARTITIONS)
            for name in arguments.engines:
                engines[name] = _start(name, broker.bootstrap, folder, arguments)
            results = _measure(broker.bootstrap, arguments)
    finally:
        for process in engines.values():
            process.terminate()
        for process in engines.values():
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)
    _report(arguments, results)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workload", choices=["stateless", "count"], default="stateless")
    parser.add_argument("--engines", nargs="+", default=["headrace", "stock"])
    parser.add_argument("--epoch", default="5 minutes")
    parser.add_argument("--rate", type=int, default=1000, help="records per second")
    parser.add_argument("--window", type=float, default=10, help="seconds of load on one engine at a time")
    parser.add_argument("--warm-up", type=int, default=4, help="windows of each engine that are thrown away")
    parser.add_argument("--windows", type=int, default=6, help="windows of each engine that count")
    parser.add_argument("--result", type=Path, help="where to write the JSON; benchmarks/results by default")
    return parser.parse_args()


def _start(name: str, bootstrap: str, folder: Path, arguments: argparse.Namespace) -> subprocess.Popen[bytes]:
    query = [
        str(HERE / "engines" / "query.py"),
        *("--bootstrap", bootstrap, "--source", f"{name}-in", "--sink", f"{name}-out"),
        *("--checkpoint", str(folder / name), "--workload", arguments.workload, "--epoch", arguments.epoch),
    ]
    environment = dict(os.environ)
    if name == "stock":
        jars = ",".join(str(path) for path in ivy.resolve(HERE / "engines" / "stock-kafka.lock"))
        # Real-time mode needs a slot for each partition of each stage; that much even stock settings must be given.
        environment["PYSPARK_SUBMIT_ARGS"] = (
            f"--master local[16] --jars {jars} --conf spark.sql.shuffle.partitions=4 pyspark-shell"
        )
        command = [sys.executable, *query]
    else:
        headrace = str(Path(sys.executable).parent / "headrace")
        command = [headrace, "run", "--master", "local[16]", "--conf", "spark.sql.shuffle.partitions=4", *query]
    log = (folder / f"{name}.log").open("wb")
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log)


def _measure(bootstrap: str, arguments: argparse.Namespace) -> dict[str, list[dict[str, float]]]:
    names = [*arguments.engines, FLOOR]
    outputs = {name: f"{name}-in" if name == FLOOR else f"{name}-out" for name in names}
    results: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with Generator(bootstrap) as generator, Receiver(bootstrap, list(outputs.values())) as receiver:
        for turn in range(arguments.warm_up + arguments.windows):
            for name in names:
                window = Window(f"{name}-in", arguments.rate, arguments.window, KEYS)
                late_ms = generator.send(window)
                received = _collect(receiver, outputs[name], int(window.rate * window.seconds))
                row = {**percentiles(received), "records": len(received), "generator_late_ms": round(late_ms, 1)}
                measured = turn >= arguments.warm_up
                print("measured" if measured else "warm-up ", f"{name:9}", row, flush=True)
                if measured:
                    results[name].append(row)
    return results


def _collect(receiver: Receiver, topic: str, count: int) -> list[float]:
    """Waits until every record of the window has come back; a lost one is an error, not a good latency."""
    received: list[float] = []
    deadline = time.monotonic() + 90
    while len(received) < count:
        if time.monotonic() > deadline:
            message = f"{topic}: {len(received)} of {count} records came back within 90 s"
            raise TimeoutError(message)
        received += receiver.latencies_ms()[topic]
    return received


def _report(arguments: argparse.Namespace, results: dict[str, list[dict[str, float]]]) -> None:
    points = ("p50", "p90", "p99", "p99.9", "max")
    medians = {
        name: {point: round(statistics.median(row[point] for row in rows), 2) for point in points}
        for name, rows in results.items()
    }
    settings = {key: value for key, value in vars(arguments).items() if key != "result"}
    print(f"\n{settings}, {PARTITIONS} partitions; medians over windows, ms")
    for name, row in medians.items():
        print(f"{name:9}", "  ".join(f"{point} {row[point]:9.2f}" for point in points))
    machine = {"cpus": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()}
    result = {
        "settings": settings,
        "partitions": PARTITIONS,
        "machine": machine,
        "medians": medians,
        "windows": results,
    }
    name = f"{arguments.workload}-{arguments.epoch.replace(' ', '')}-{arguments.rate}.json"
    path = arguments.result or HERE / "results" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"written to {path}")


if __name__ == "__main__":
    sys.exit(main())
