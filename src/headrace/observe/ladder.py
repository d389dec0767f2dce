# SPDX-License-Identifier: Apache-2.0
"""The upper bounds of the buckets in which the engine counts latencies."""

from __future__ import annotations

_FIRST_MS = 0.1
_STEPS_A_DOUBLING = 4
_STEPS = 83

BOUNDS_MS = tuple(round(_FIRST_MS * 2 ** (step / _STEPS_A_DOUBLING), 3) for step in range(_STEPS))
"""From a tenth of a millisecond to more than two minutes, each a fifth above the one before."""
