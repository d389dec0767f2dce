# SPDX-License-Identifier: Apache-2.0
"""Latencies in an HDR histogram: every one counted, three digits kept, mergeable without loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from hdrh.histogram import HdrHistogram

if TYPE_CHECKING:
    from collections.abc import Iterable

POINTS = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99.9": 99.9, "max": 100.0}
LOWEST_US = 1
HIGHEST_US = 600_000_000
DIGITS = 3


class Histogram:
    """A histogram of latencies."""

    def __init__(self) -> None:
        """Makes an empty one."""
        self._counts = HdrHistogram(LOWEST_US, HIGHEST_US, DIGITS)

    @classmethod
    def of_ms(cls, latencies_ms: Iterable[float]) -> Self:
        """Makes one of latencies in milliseconds."""
        made = cls()
        for latency_ms in latencies_ms:
            made._counts.record_value(min(max(round(latency_ms * 1000), LOWEST_US), HIGHEST_US))
        return made

    @classmethod
    def decoded(cls, encoded: Iterable[str]) -> Self:
        """Makes one of what `encoded` returned, merged."""
        made = cls()
        for text in encoded:
            made._counts.add(HdrHistogram.decode(text))
        return made

    def percentiles_ms(self) -> dict[str, float]:
        """Returns the percentiles of POINTS in milliseconds."""
        return {name: self.at_ms(percentile) for name, percentile in POINTS.items()}

    def at_ms(self, percentile: float) -> float:
        """Returns one percentile in milliseconds."""
        return float(self._counts.get_value_at_percentile(percentile)) / 1000

    def encoded(self) -> str:
        """Returns the histogram as text (HDR V2, base64), values in microseconds."""
        text: bytes = self._counts.encode()
        return text.decode()
