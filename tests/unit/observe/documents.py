# SPDX-License-Identifier: Apache-2.0
"""Documents as the engine gives them, made by hand: for what is about reading them, and not about measuring."""

from __future__ import annotations

import functools
import json
import math
import random
from bisect import bisect_left
from typing import Any

from headrace.observe.ladder import BOUNDS_MS

NOW_MS = 1_790_000_000_000
FRAUD, TOTALS = "5d1f9f2e-8c1b-4b0e-9a4e-000000000001", "5d1f9f2e-8c1b-4b0e-9a4e-000000000002"
WRITE_FAILED = (
    "[KAFKA_WRITE_FAILED] A record could not be written to topic 'alerts', partition 1: the broker did not answer "
    "within 30 s. Epoch 41 is not committed, and its records are read again at the next start. Check the brokers, the "
    "topic and the sink's kafka.* options, then start the query again."
)


def buckets(count: int, median_ms: float, spread: float = 0.35, seed: int = 0) -> list[list[float | int | None]]:
    """So many latencies around a median, on the ladder."""
    chance = random.Random(seed)  # noqa: S311 the same each time is the point
    counts: dict[int, int] = {}
    for _ in range(count):
        value = median_ms * math.exp(chance.gauss(0, spread)) * (4 if chance.random() < 0.01 else 1)
        place = bisect_left(BOUNDS_MS, value)
        counts[place] = counts.get(place, 0) + 1
    return [[BOUNDS_MS[place] if place < len(BOUNDS_MS) else None, counts[place]] for place in sorted(counts)]


@functools.cache
def quantiles(median_ms: float, count: int = 500, seed: int = 0) -> dict[str, Any]:
    """Percentiles with the buckets they belong to."""
    return {
        "count": count,
        "p50": median_ms,
        "p90": median_ms * 1.6,
        "p99": median_ms * 2.8,
        "p999": median_ms * 6,
        "max": median_ms * 9,
        "mean": median_ms * 1.1,
        "buckets": buckets(count, median_ms, seed=seed),
    }


def parts(queueing: float, processing: float, delivery: float, count: int = 500) -> dict[str, Any]:
    """Latency that consists of these."""
    return {
        "end_to_end": quantiles(queueing + processing + delivery, count),
        "queueing": quantiles(queueing, count),
        "processing": quantiles(processing, count),
        "delivery": quantiles(delivery, count),
        "timers": {"count": 3},
    }


def query(now_ms: int = NOW_MS, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 any part of the document
    """A query with a shuffle and Python, which runs; any part of it can be another."""
    second = now_ms // 1000
    made: dict[str, Any] = {
        "id": FRAUD,
        "run": "run-1",
        "name": "alerts",
        "mode": "real-time",
        "state": "running",
        "started_ms": now_ms - 600_000,
        "ended_ms": None,
        "error": None,
        "delivery": "at-least-once",
        "epoch": {"number": 41, "started_ms": now_ms - 12_000, "interval_ms": 30_000},
        "boundaries": [
            {"time_ms": now_ms - 12_000 - back * 30_000, "gap_ms": 14.5 + back, "epoch": 41 - back}
            for back in (3, 2, 1, 0)
        ],
        "commits": {
            "last_ms": now_ms - 400,
            "age_ms": 400,
            "times_ms": [now_ms - 400 - back * 1000 for back in range(59, -1, -1)],
            "interval_ms": 1000,
        },
        "latency": {"recent": parts(1.9, 2.6, 3.1), "total": parts(2.0, 2.8, 3.2, 5000)},
        "slices": [one_second((second - back) * 1000) for back in range(119, -1, -1)],
        "creation": "known",
        "rate": {"in": 1003.4, "out": 998.2},
        "lag": {"records": 12, "seconds": 0.01},
        "partitions": [
            {
                "topic": "payments",
                "partition": number,
                "rate": 125.0 + number,
                "lag_records": 1 + number % 3,
                "p99": 12.0 + 7 * (number == 5) + number / 10,
                "count": 1250,
                "host": "worker-1",
                "executor": str(number % 2),
                "busiest_key": {"key": "4000-0007", "share": 0.41} if number == 5 else None,
            }
            for number in range(8)
        ],
        "stages": [
            {
                "id": 0,
                "name": "Kafka payments → filter, project",
                "operators": ["MicroBatchScan kafka", "Filter", "Project"],
                "feeds": [1],
                "tasks": 8,
                "rows_out": 1003.0,
                "processing": quantiles(0.6),
                "queue": 0.12,
                "skew": None,
            },
            {
                "id": 1,
                "name": "score (Python) → Kafka alerts",
                "operators": ["Exchange", "BatchEvalPython score", "WriteToKafka"],
                "feeds": [],
                "tasks": 20,
                "rows_out": 998.2,
                "processing": quantiles(2.1),
                "queue": None,
                "skew": {"hot": 3, "share": 0.31},
            },
        ],
        "python": [
            {
                "pid": 4711 + number,
                "host": "worker-1",
                "executor": str(number),
                "functions": ["score"],
                "stage": 1,
                "task": number,
                "rows": 48_211 + number,
                "busy": 0.22 + number / 10,
                "batch_p50": 0.9,
                "memory_mb": 84.5,
                "alive": True,
            }
            for number in range(2)
        ],
        "tail": [
            {
                "time_ms": now_ms - 100 * back,
                "topic": "alerts",
                "key": f"4000-{back}",
                "value": json.dumps({"card": f"4000-{back}", "amount": 950 + back, "risk": 0.93}),
            }
            for back in range(11, -1, -1)
        ],
        "dead_letters": 0,
    }
    return {**made, **changes}


@functools.cache
def one_second(time_ms: int) -> dict[str, Any]:
    """A second of the heat map: always the same for the same second, and slower at each boundary."""
    second = time_ms // 1000
    count = 180 + second * 7 % 40
    median = 7.5 + 2 * math.sin(second / 9) + (18 if second % 30 == 18 else 0)
    return {"time_ms": time_ms, "buckets": buckets(count, median, seed=second), "in": count, "out": count - 1}


def document(*queries: dict[str, Any], now_ms: int = NOW_MS) -> str:
    """An application with these queries; with one that runs, unless some are given."""
    return json.dumps(
        {
            "time_ms": now_ms,
            "application": {"id": "local-1790000000000", "name": "fraud", "spark": "4.3.0"},
            "queries": list(queries) or [query(now_ms)],
            "executors": [
                {
                    "id": "driver",
                    "host": "worker-1",
                    "gc_ms_per_s": 2.4,
                    "gc_max_ms": 11.0,
                    "heap_used_mb": 412,
                    "heap_max_mb": 1024,
                }
            ],
        }
    )
