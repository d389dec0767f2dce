# SPDX-License-Identifier: Apache-2.0
"""What our own benchmarks measured, as far as advice leans on it: a test compares each number with its result file."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """An engine under one workload: 1,000 records a second, two partitions, two processors, commits every 5 seconds.

    Attributes:
        result: The file below ``benchmarks/results``.
        engine: The engine's name there.
        workload: The workload's name there.
        p50_ms: The median latency from the time a record was due until its result was received.
        p99_ms: The latency that one record in a hundred exceeds.
        cpu_s_per_million: Processor seconds for a million records.
    """

    result: str
    engine: str
    workload: str
    p50_ms: float
    p99_ms: float
    cpu_s_per_million: float


MICRO_BATCH = Measured(
    result="bench-4.json",
    engine="micro-batch",
    workload="stateless",
    p50_ms=173,
    p99_ms=312,
    cpu_s_per_million=1310,
)
MICRO_BATCH_STATE = Measured(
    result="bench-4.json", engine="micro-batch", workload="count", p50_ms=387, p99_ms=648, cpu_s_per_million=1293
)
REAL_TIME = Measured(
    result="bench-4.json", engine="headrace", workload="stateless", p50_ms=0.85, p99_ms=10.6, cpu_s_per_million=295
)
REAL_TIME_STATE = Measured(
    result="bench-4.json", engine="headrace", workload="count", p50_ms=2.3, p99_ms=205, cpu_s_per_million=883
)
ALL = (MICRO_BATCH, MICRO_BATCH_STATE, REAL_TIME, REAL_TIME_STATE)

BOUNDARY_GAP_MS = 143
BOUNDARY_GAP_STATE_MS = 177
"""How long nothing is processed between two epochs (benchmarks/results/where.json, medians)."""
