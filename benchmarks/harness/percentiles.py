# SPDX-License-Identifier: Apache-2.0
"""Percentiles over all measured latencies, not over samples of them."""

from __future__ import annotations

import math

POINTS = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}


def percentiles(latencies: list[float]) -> dict[str, float]:
    """Returns the percentiles of POINTS by the nearest-rank rule."""
    ordered = sorted(latencies)
    return {name: round(ordered[max(0, math.ceil(point * len(ordered)) - 1)], 3) for name, point in POINTS.items()}
