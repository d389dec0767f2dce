# SPDX-License-Identifier: Apache-2.0
"""The upper bounds of the buckets in which the engine counts latencies."""

from __future__ import annotations

_FIRST_MICROS = 100
_STEPS_A_DOUBLING = 4
_STEPS = 82

BOUNDS_MS = tuple(round(_FIRST_MICROS * 2 ** (step / _STEPS_A_DOUBLING)) / 1000 for step in range(_STEPS))
"""As in the engine's Ladder.scala: from a tenth of a millisecond to two minutes, each a fifth above the one before."""
