# SPDX-License-Identifier: Apache-2.0
"""Where a run of a query began to read, and how far there was something to read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.engine import gateway

if TYPE_CHECKING:
    from pyspark.sql.streaming import StreamingQuery

_SHOWN = 4

Offsets = dict[str, int]
"""By partition, such as ``orders-0``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """Where a run of a query is.

    Attributes:
        starts: The first offsets that it read.
        ends: The newest offsets that are known, at most seconds old.
    """

    starts: Offsets
    ends: Offsets

    def is_known(self) -> bool:
        """Says whether there is something to say."""
        return bool(self.starts)

    def start_text(self) -> str:
        """Returns where it began, for a line of text."""
        shown = [f"{partition} {offset:,}" for partition, offset in sorted(self.starts.items())[:_SHOWN]]
        more = len(self.starts) - len(shown)
        return ", ".join(shown) + (f" and {more} more partitions" if more else "")

    def repeated_since(self, before: Position) -> int:
        """Returns how many records the run before may have read that this one reads again, at most and about."""
        return sum(max(0, before.ends.get(partition, 0) - start) for partition, start in self.starts.items())


def position_of(query: StreamingQuery) -> Position | None:
    """Returns where a run of a query is; ``None`` before it reads. In micro-batch mode the offsets are not known."""
    match gateway.trigger_of(query):
        case "RealTimeTrigger":
            starts, ends = gateway.offsets_of(str(query.runId))
            return None if starts is None else Position(starts=parse_offsets(starts), ends=parse_offsets(ends))
        case "AvailableNowTrigger" | "OneTimeTrigger":
            # It is about to end: what it catches up with is not yet what the application is there for.
            return None
        case _:
            return None if query.lastProgress is None else Position(starts={}, ends={})


def parse_offsets(text: str) -> Offsets:
    """Reads offsets in the form of a Kafka source; those of other sources are none."""
    try:
        topics = json.loads(text)
        return {f"{topic}-{n}": int(offset) for topic, part in topics.items() for n, offset in part.items()}
    except (AttributeError, TypeError, ValueError):
        return {}
