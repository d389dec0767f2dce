# SPDX-License-Identifier: Apache-2.0
"""Writes the metrics as OpenMetrics text, which Prometheus and most others read."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from headrace.observe.ladder import BOUNDS_MS, on_ladder
from headrace.observe.metrics import METRICS, Kind, Metric
from headrace.observe.snapshot import Quantiles

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headrace.observe.sampling import Sample
    from headrace.observe.snapshot import Snapshot

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"

_UNITS = ("seconds", "bytes", "ratio")
_SUFFIX = {Kind.COUNTER: "_total", Kind.INFO: "_info", Kind.GAUGE: "", Kind.HISTOGRAM: "_bucket"}


def as_text(snapshot: Snapshot) -> str:
    """Returns all metrics that have a value."""
    return "\n".join(itertools.chain(*(_family(metric, snapshot) for metric in METRICS), ["# EOF", ""]))


def names(metric: Metric) -> set[str]:
    """Returns the names under which a metric can be asked for."""
    found = {metric.name + _SUFFIX[metric.kind]}
    return found | {f"{metric.name}_count", f"{metric.name}_sum"} if metric.kind is Kind.HISTOGRAM else found


def _family(metric: Metric, snapshot: Snapshot) -> Iterator[str]:
    yield f"# TYPE {metric.name} {metric.kind.value}"
    unit = metric.name.rpartition("_")[2]
    if unit in _UNITS:
        yield f"# UNIT {metric.name} {unit}"
    yield f"# HELP {metric.name} {metric.help}"
    for sample in metric.samples(snapshot):
        yield from _lines(metric, sample)


def _lines(metric: Metric, sample: Sample) -> Iterator[str]:
    if not isinstance(sample.value, Quantiles):
        yield f"{metric.name}{_SUFFIX[metric.kind]}{_labels(sample.labels)} {_number(sample.value)}"
        return
    # All buckets, also the empty ones: one that only appears with its first record has no increase to be seen.
    below = list(itertools.accumulate(on_ladder(sample.value)))
    for bound, count in zip((*BOUNDS_MS, None), below, strict=True):
        edge = "+Inf" if bound is None else _number(bound / 1000)
        yield f"{metric.name}_bucket{_labels({**sample.labels, 'le': edge})} {count}"
    yield f"{metric.name}_count{_labels(sample.labels)} {below[-1]}"
    yield f"{metric.name}_sum{_labels(sample.labels)} {_number(sample.value.mean * sample.value.count / 1000)}"


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return repr(round(float(value), 9))
