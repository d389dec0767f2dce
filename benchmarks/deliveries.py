# SPDX-License-Identifier: Apache-2.0
"""What exactly-once delivery costs in throughput: the same copy of a million records with each promise, in turns.

Real-time mode, one Spark, one query at a time, after one of each over fewer records. The time is from `start()` until
the topic holds so many records; the marks of transactions count as records there, of which there are a few hundred.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import statistics
import sys
import tempfile
from pathlib import Path

import psutil
from catch_up import PARTITIONS, WARM_UP, Measurement
from harness import machine

import headrace
from headrace.local import Broker

OUT = Path(__file__).parent / "results" / "deliveries.json"
DELIVERIES = ("at-least-once", "exactly-once")


def main() -> int:
    """Measures and writes the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    rates: dict[str, list[int]] = {delivery: [] for delivery in DELIVERIES}
    with tempfile.TemporaryDirectory() as folder, Broker() as broker:
        spark = headrace.session("deliveries", master="local[4]", conf={"spark.ui.enabled": "false"})
        measurement = Measurement(spark, broker.bootstrap, Path(folder))
        measurement.fill("few", WARM_UP)
        measurement.fill("old", arguments.records)
        for delivery in DELIVERIES:
            measurement.real_time("copies", "few", WARM_UP, delivery=delivery)
        for _ in range(arguments.turns):
            for delivery in DELIVERIES:
                seconds = measurement.real_time("copies", "old", arguments.records, delivery=delivery)
                if seconds is None:
                    message = f"{delivery} took too long"
                    raise SystemExit(message)
                rates[delivery].append(round(arguments.records / seconds))
                print(f"{delivery}: {rates[delivery][-1]:,} a second", file=sys.stderr, flush=True)
        spark.stop()
    pairs = [exactly / least for least, exactly in zip(*rates.values(), strict=True)]
    whole = {
        "format": 1,
        "when": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": machine.commit(),
        "machine": machine.description(),
        "load_average": psutil.getloadavg(),
        "records": arguments.records,
        "partitions": PARTITIONS,
        "records_a_second": rates,
        "exactly_once_to_at_least_once": {
            "median": round(statistics.median(pairs), 3),
            "lowest": round(min(pairs), 3),
            "highest": round(max(pairs), 3),
        },
    }
    arguments.out.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
