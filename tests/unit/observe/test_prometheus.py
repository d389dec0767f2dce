# SPDX-License-Identifier: Apache-2.0
"""What Prometheus gets to read, and what Grafana asks it for."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from headrace.observe import prometheus
from headrace.observe.ladder import BOUNDS_MS
from headrace.observe.metrics import METRICS
from headrace.observe.snapshot import Snapshot
from tests.unit.observe.documents import FRAUD, document, query

DOCS = Path(__file__).parents[3] / "docs"
GRAFANA = DOCS / "grafana" / "headrace.json"
LINE = re.compile(r"(?P<name>[a-z0-9_]+)\{(?P<labels>.*)\} (?P<value>\S+)")


def text_of(*queries: dict[str, object]) -> str:
    return prometheus.as_text(Snapshot.read(document(*queries)))


def samples(text: str) -> list[tuple[str, dict[str, str], float]]:
    found = [LINE.fullmatch(line) for line in text.splitlines() if not line.startswith("#")]
    assert all(found)
    return [
        (match["name"], dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match["labels"])), float(match["value"]))
        for match in found
        if match
    ]


def test_every_metric_is_declared_once_and_followed_by_its_samples() -> None:
    text = text_of()
    assert text.endswith("\n# EOF\n")
    declared = re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)
    assert [name for name, _ in declared] == [metric.name for metric in METRICS]
    now = ""
    for line in text.splitlines()[:-1]:
        if line.startswith("# TYPE "):
            now = line.split()[2]
        else:
            assert line.split()[2 if line.startswith("#") else 0].startswith(now)


def test_every_metric_has_a_sample_and_each_only_once() -> None:
    workers = [{**worker, "pid": None} for worker in query()["python"]]
    found = samples(text_of(query(python=workers)))
    assert {name for name, _, _ in found} == set().union(*(prometheus.names(metric) for metric in METRICS))
    keys = [(name, tuple(sorted(labels.items()))) for name, labels, _ in found]
    assert len(keys) == len(set(keys))


def test_a_histogram_gives_the_quantiles_that_the_records_have() -> None:
    """By the rule of Prometheus' histogram_quantile: linear within the bucket in which the rank lies."""
    found = samples(text_of())
    buckets = [
        (float(labels["le"].replace("+Inf", "inf")), value)
        for name, labels, value in found
        if name == "headrace_latency_seconds_bucket" and labels["part"] == "end_to_end"
    ]
    assert [bound for bound, _ in buckets] == [*(pytest.approx(bound / 1000) for bound in BOUNDS_MS), math.inf]
    counts = [count for _, count in buckets]
    assert counts == sorted(counts)
    (total,) = [
        value
        for name, labels, value in found
        if name == "headrace_latency_seconds_count" and labels["part"] == "end_to_end"
    ]
    assert total == counts[-1] == 5000
    rank = total / 2
    at = next(index for index, count in enumerate(counts) if count >= rank)
    (low, below), (high, up_to) = buckets[at - 1], buckets[at]
    assert low + (high - low) * (rank - below) / (up_to - below) == pytest.approx(0.008, rel=0.1)


def test_what_was_not_measured_has_no_sample() -> None:
    names = {name for name, _, _ in samples(text_of(query(lag=None, latency=None, rate=None, dead_letters=None)))}
    assert not names & {"headrace_lag_records", "headrace_latency_seconds_count", "headrace_dead_letters_total"}


def test_only_the_last_run_of_a_query_counts() -> None:
    old = query(run="run-0", started_ms=1, state="failed")
    states = [labels["state"] for name, labels, value in samples(text_of(query(), old)) if "state" in name and value]
    assert states == ["running"]


def test_names_cannot_break_the_format() -> None:
    text = text_of(query(name='a "name"\n with \\ and }'))
    assert {labels["name"] for _, labels, _ in samples(text) if labels.get("query") == FRAUD} == {
        'a \\"name\\"\\n with \\\\ and }'
    }


def test_grafana_asks_only_for_metrics_that_there_are() -> None:
    asked = set(re.findall(r"\bheadrace_\w+", json.dumps(json.loads(GRAFANA.read_text(encoding="utf-8")))))
    there = set().union(*(prometheus.names(metric) for metric in METRICS))
    assert asked
    assert asked <= there


def test_the_page_of_reference_has_every_metric_with_its_meaning() -> None:
    page = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| \w+ \| (.+?) \|", page, re.MULTILINE))
    assert rows == {metric.name: metric.help for metric in METRICS}
