# SPDX-License-Identifier: Apache-2.0
"""Results of benchmarks as the harness writes them, with figures of our choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from harness import findings
from harness.histogram import Histogram
from harness.ranking import rankings

if TYPE_CHECKING:
    from harness.findings import Findings

REASON = "[UDF] Python | <functions> are not supported\n  at line two"


def window(p99: float, *, usable: bool = True) -> dict[str, Any]:
    latencies = [p99 / 10] * 99 + [p99]
    return {
        "start": 1.0,
        "records": 100,
        "duplicates": 0,
        **dict.fromkeys(findings.POINTS, p99 / 10),
        "p99": p99,
        "max": p99,
        "histogram": Histogram.of_ms(latencies).encoded(),
        "series": [[0.0, p99], [0.1, p99 / 10]],
        "commits": [0.05],
        "generator_late_ms": {"p99": 0.3, "max": 2.0},
        "engine_cpu_s": 0.5,
        "harness_cpu_s": 0.2,
        "foreign_cpu": 0.02,
        "usable": usable,
    }


def cell(engine: str, *p99s: float, **differs: Any) -> dict[str, Any]:  # noqa: ANN401 any field of a cell
    windows = [window(p99) for p99 in p99s]
    middle = sorted(p99s)[len(p99s) // 2] if p99s else 0
    points = dict.fromkeys(findings.POINTS, middle / 10) | {"p99": middle, "max": middle}
    ends = {point: (min(w[point] for w in windows), max(w[point] for w in windows)) for point in points if windows}
    case = {"workload": "stateless", "rate": 1000, "size": 100, "keys": 1000, "partitions": 2, "checkpoint_ms": 5000}
    what = {
        "engine": engine,
        "title": f"The {engine}",
        "versions": {"it": "1.2"},
        "settings": {"a.b": "<c>"},
        "slots": 4,
    }
    how = {
        "window_s": 1.0,
        "warm_up_s": 1.0,
        "verdict": "measured",
        "why": "",
        "windows": windows,
        "cpu_s_per_million": 310.0,
    }
    return {**case, **what, **how, "median": points if p99s else {}, "spread": ends, **differs}


def result(*cells: dict[str, Any], when: str = "2026-11-16T02:30:00+00:00") -> dict[str, Any]:
    head = {"format": 1, "when": when, "commit": "abc1234", "command": "headrace bench --list", "machine": {"cpus": 2}}
    return {**head, "cells": list(cells), "rankings": rankings(cells)}


HEADRACE = cell("headrace", 2.0, 2.1, 2.2)
FLINK = cell("flink", 12.0, 12.6, 13.0)
CLOSE = cell("quix", 2.1, 2.2, 2.5)
CANNOT = cell("pyflink", verdict="cannot", why=REASON, cpu_s_per_million=None)
FASTER = cell("headrace", 1.0, 1.0, 1.0, rate=100)
RIVAL = cell("flink", 11.0, 11.0, 11.0, rate=100)


def found(*cells: dict[str, Any]) -> Findings:
    return findings.of_json(result(*cells))
