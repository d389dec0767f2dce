# SPDX-License-Identifier: Apache-2.0
"""How tests read the engine's board."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headrace.engine import gateway
from headrace.testing import eventually
from tests.integration.streams import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming import StreamingQuery

PARTS = ("queueing", "processing", "delivery", "end_to_end")


def observed(query: StreamingQuery) -> dict[str, Any] | None:
    """Returns what the board knows of a run of a query; ``None`` before it knows the run."""
    queries: list[dict[str, Any]] = json.loads(gateway.observed())["queries"]
    return next((found for found in queries if found["run"] == str(query.runId)), None)


def await_observed(query: StreamingQuery, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Waits until what the board knows of a run meets a condition; returns it."""
    last: dict[str, Any] = {}

    def holds() -> bool:
        found = observed(query)
        last.clear()
        last.update(found or {})
        return found is not None and condition(found)

    eventually(holds, PATIENCE)
    return last


def count_of(found: dict[str, Any], part: str) -> int:
    """Returns how many records a part of the latency was measured of, since the run began."""
    measured = found["latency"]["total"][part]
    return 0 if measured is None else measured["count"]
