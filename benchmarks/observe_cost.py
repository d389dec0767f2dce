# SPDX-License-Identifier: Apache-2.0
"""What measuring a record costs, in nanoseconds: all that is done from its reading to its acknowledgement.

The same loop once with and once without; the difference is the cost. It runs on one thread, in a session, with the
compilers that an application has. What is already in the result file is replaced.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import statistics
import sys
from pathlib import Path
from typing import Any

from harness import machine

import headrace

ROOT = Path(__file__).parents[1]
OUT = Path(__file__).parent / "results" / "observe-cost.json"
PROBES = ROOT / "build" / "headrace-engine-tests.jar"
ROUNDS = 30
WARM_UP = 10
RECORDS = 1_000_000


def main() -> int:
    """Measures and writes the result file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    conf = {"spark.ui.enabled": "false", "spark.jars": str(PROBES)}
    spark = headrace.session("observe-cost", master="local[1]", conf=conf)
    jvm: Any = spark._jvm  # noqa: SLF001 the way to the probe
    found = {}
    for name, measured in (("without", False), ("with", True)):
        rounds = list(jvm.headrace.probe.MeterCost.nanos(ROUNDS, RECORDS, measured))[WARM_UP:]
        found[name] = {"median_ns": round(statistics.median(rounds), 1), "worst_ns": round(max(rounds), 1)}
    spark.stop()
    whole = {
        "format": 1,
        "when": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": machine.commit(),
        "machine": machine.description(),
        "records_a_round": RECORDS,
        "rounds": ROUNDS - WARM_UP,
        "a_record": {**found, "cost_ns": round(found["with"]["median_ns"] - found["without"]["median_ns"], 1)},
    }
    arguments.out.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(whole["a_record"]), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
