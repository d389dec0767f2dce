# SPDX-License-Identifier: Apache-2.0
"""Splits the boundary gap, from the last answer of an epoch to the first of the next, into its parts."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from breakdown.event_log import Epoch

PARTS = {
    "stop": "last answer received until the last task has ended, without its state commit",
    "state commit": "the slowest task's",
    "report": "last task ended until the driver is free for the next epoch, without the logs",
    "logs": "offset log and commit log, as far as the driver waits for them",
    "offsets": "where the source's partitions stand",
    "planning": "the query's plan, anew for each epoch",
    "job": "from the plan to a job: tasks are built, compiled code is looked up",
    "launch": "job submitted until the last task has started",
    "state load": "the fastest task's",
    "first record": "last task started until the first answer is received, without the state's load",
}
"""What happens in the gap, in order; the parts of one boundary add up to its gap."""
BESIDE = ("gap", "slowest", "changelog")
"""The whole gap, the latency of the slowest record that met it, and how much of the state commit went into a file."""


def gaps(epochs: Sequence[Epoch], receipts: Sequence[tuple[float, float]]) -> list[dict[str, float]]:
    """Returns the parts of each boundary inside a window, in milliseconds.

    Args:
        epochs: What the driver did.
        receipts: When each record was due and when its answer was received, in seconds since 1970.
    """
    received_ms = sorted(received * 1000 for _, received in receipts)
    found = []
    for ended, begun in pairwise(epochs):
        # Nothing is answered between two jobs, so answers before and after this moment belong to different epochs.
        cut = bisect_right(received_ms, begun.job_start_ms)
        if begun.number == ended.number + 1 and 0 < cut < len(received_ms):
            parts = _parts(ended, begun, received_ms[cut - 1], received_ms[cut])
            slowest = max(
                (received - due) * 1000
                for due, received in receipts
                if ended.last_finish_ms - 1000 <= due * 1000 <= received_ms[cut]
            )
            gap = received_ms[cut] - received_ms[cut - 1]
            found.append({**parts, "gap": gap, "slowest": slowest, "changelog": ended.changelog_ms})
    return found


def _parts(ended: Epoch, begun: Epoch, last_answer_ms: float, first_answer_ms: float) -> dict[str, float]:
    before, after = ended.durations_ms, begun.durations_ms
    free_ms = begun.trigger_ms - ended.last_finish_ms
    logs = min(free_ms, before.get("walCommit", 0) + before.get("commitOffsets", 0))
    offsets = after.get("latestOffset", 0) + after.get("getBatch", 0)
    planning = after.get("queryPlanning", 0)
    return {
        "stop": ended.last_finish_ms - last_answer_ms - ended.state_commit_ms,
        "state commit": ended.state_commit_ms,
        "report": free_ms - logs,
        "logs": logs,
        "offsets": offsets,
        "planning": planning,
        "job": begun.job_start_ms - begun.trigger_ms - offsets - planning,
        "launch": begun.last_launch_ms - begun.job_start_ms,
        "state load": begun.state_load_ms,
        "first record": first_answer_ms - begun.last_launch_ms - begun.state_load_ms,
    }


def summary(found: Sequence[dict[str, float]]) -> dict[str, Any]:
    """Returns medians over the boundaries, each with the lowest and the highest."""
    if not found:
        return {"boundaries": 0, "median": {}, "spread": {}}
    columns = {name: [parts[name] for parts in found] for name in found[0]}
    return {
        "boundaries": len(found),
        "median": {name: round(median(values), 1) for name, values in columns.items()},
        "spread": {name: [round(min(values), 1), round(max(values), 1)] for name, values in columns.items()},
    }
