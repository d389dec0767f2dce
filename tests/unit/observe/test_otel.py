# SPDX-License-Identifier: Apache-2.0
"""What an OpenTelemetry collector gets: one that listens on a real port, and reads what was sent as collectors do."""

from __future__ import annotations

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from headrace.observe.feed import Feed
from headrace.observe.ladder import BOUNDS_MS
from headrace.observe.otel import Sender
from headrace.testing import eventually
from tests.unit.observe.documents import document, query

if TYPE_CHECKING:
    from collections.abc import Iterator


class Collector(ThreadingHTTPServer):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[ExportMetricsServiceRequest] = []


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            content = gzip.decompress(content)
        self.server.requests.append(ExportMetricsServiceRequest.FromString(content))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    server = Collector()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_a_collector_gets_what_was_measured_again_and_again(collector: Collector) -> None:
    sender = Sender(f"http://127.0.0.1:{collector.server_port}/v1/metrics", Feed(lambda: document(query())), 0.1)
    sender.start()
    eventually(lambda: len(collector.requests) > 1)
    sender.stop()
    (resource,) = collector.requests[0].resource_metrics
    assert ("service.name", "fraud") in {(each.key, each.value.string_value) for each in resource.resource.attributes}
    metrics = {metric.name: metric for metric in resource.scope_metrics[0].metrics}
    assert metrics["headrace.lag_records"].gauge.data_points[0].as_double == 12
    assert metrics["headrace.dead_letters"].sum.is_monotonic
    latency = metrics["headrace.latency"]
    assert latency.unit == "s"
    parts = {point.attributes[2].value.string_value: point for point in latency.histogram.data_points}
    assert set(parts) == {"end_to_end", "queueing", "processing", "delivery"}
    whole = parts["end_to_end"]
    assert (whole.count, sum(whole.bucket_counts), len(whole.bucket_counts)) == (5000, 5000, len(BOUNDS_MS) + 1)
    assert whole.time_unix_nano > whole.start_time_unix_nano > 0
