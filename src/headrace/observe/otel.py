# SPDX-License-Identifier: Apache-2.0
"""Sends the metrics to an OpenTelemetry collector, over OTLP and HTTP."""

from __future__ import annotations

import importlib.metadata
import threading
from typing import TYPE_CHECKING

from headrace.errors import ExtraMissingError
from headrace.observe.ladder import BOUNDS_MS, on_ladder
from headrace.observe.metrics import METRICS, Kind, Metric
from headrace.observe.snapshot import Quantiles, Snapshot

try:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import export
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
except ImportError as cause:
    raise ExtraMissingError(command="run --otel", packages=str(cause.name), extra="otel") from cause

if TYPE_CHECKING:
    from headrace.observe.feed import Feed
    from headrace.observe.sampling import Sample

_EVERY_S = 10.0
_PATIENCE_S = 30.0
_NANOS = 1_000_000
# In the words of UCUM, which OpenTelemetry wants, and which takes units out of names.
_UNITS = {"seconds": "s", "bytes": "By", "ratio": "1"}
_SINCE_THE_BEGINNING = export.AggregationTemporality.CUMULATIVE


class Sender:
    """Sends all metrics every ten seconds.

    Args:
        url: Where the collector takes metrics, such as ``http://localhost:4318/v1/metrics``. What else the collector
            needs stands in the environment, as OpenTelemetry has it: ``OTEL_EXPORTER_OTLP_HEADERS`` and others.
        feed: Where they come from.
        every_s: How often they are sent.
    """

    def __init__(self, url: str, feed: Feed, every_s: float = _EVERY_S) -> None:
        self._exporter = OTLPMetricExporter(endpoint=url)
        self._feed = feed
        self._every_s = every_s
        self._is_over = threading.Event()

    def start(self) -> None:
        """Begins to send."""
        threading.Thread(target=self._send_on, name="headrace-otel", daemon=True).start()

    def stop(self) -> None:
        """Ends it; what was sent is sent."""
        self._is_over.set()

    def _send_on(self) -> None:
        with self._feed.read(self._every_s) as reader:
            while True:
                sight = reader.next(_PATIENCE_S)
                if self._is_over.is_set():
                    return
                if sight is not None and sight.document is not None:
                    # A collector that is away is logged by the exporter; the next metrics hold these.
                    self._exporter.export(as_metrics(Snapshot.read(sight.document)))


def as_metrics(snapshot: Snapshot) -> export.MetricsData:
    """Returns all metrics that have a value, in OpenTelemetry's form."""
    found = [made for metric in METRICS if (made := _metric(metric, snapshot)) is not None]
    name = "headrace" if snapshot.application is None else snapshot.application.name
    scope = export.ScopeMetrics(InstrumentationScope("headrace", importlib.metadata.version("headrace")), found, "")
    return export.MetricsData([export.ResourceMetrics(Resource.create({"service.name": name}), [scope], "")])


def _metric(metric: Metric, snapshot: Snapshot) -> export.Metric | None:
    samples = list(metric.samples(snapshot))
    if not samples or metric.kind is Kind.INFO:
        # What it would say is the resource.
        return None
    now = snapshot.time_ms * _NANOS
    if metric.kind is Kind.HISTOGRAM:
        data: export.Gauge | export.Histogram | export.Sum = export.Histogram(
            [_histogram(sample, sample.value, now) for sample in samples if isinstance(sample.value, Quantiles)],
            _SINCE_THE_BEGINNING,
        )
    else:
        points = [_number(sample, sample.value, now) for sample in samples if not isinstance(sample.value, Quantiles)]
        is_counter = metric.kind is Kind.COUNTER
        data = export.Sum(points, _SINCE_THE_BEGINNING, is_monotonic=True) if is_counter else export.Gauge(points)
    prefix, _, unit = metric.name.rpartition("_")
    name = prefix if unit in _UNITS else metric.name
    return export.Metric(name.replace("headrace_", "headrace.", 1), metric.help, _UNITS.get(unit, ""), data)


def _number(sample: Sample, value: float, now: int) -> export.NumberDataPoint:
    return export.NumberDataPoint(sample.labels, _since(sample), now, float(value))


def _histogram(sample: Sample, value: Quantiles, now: int) -> export.HistogramDataPoint:
    counts = on_ladder(value)
    return export.HistogramDataPoint(
        attributes=sample.labels,
        start_time_unix_nano=_since(sample),
        time_unix_nano=now,
        count=sum(counts),
        sum=value.mean * value.count / 1000,
        bucket_counts=counts,
        explicit_bounds=[bound / 1000 for bound in BOUNDS_MS],
        min=0.0,
        max=value.max / 1000,
    )


def _since(sample: Sample) -> int:
    return (sample.since_ms or 0) * _NANOS
