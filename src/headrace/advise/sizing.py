# SPDX-License-Identifier: Apache-2.0
"""What real-time queries take from their application: slots, and memory for what is on its way."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.advise.query import CheckedQuery

HEADROOM = 0.2
"""A share of the slots to keep free: a partition added to a topic takes one more while the query runs, and jobs beside
it, such as the one that reads a table to broadcast, take theirs from the same ones."""

_SHUFFLE_MIB = 32
"""Spark's default of spark.shuffle.streaming.writerMaxMemory and .readerMaxMemory, for each task."""
_PARTITION_MIB = 2
"""Kafka's max.partition.fetch.bytes is 1 MiB: one fetch in hand, and one on its way."""
_PRODUCER_MIB = 32
"""Kafka's buffer.memory; the tasks of an executor share a producer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """The slots of one or several queries beside those of the application.

    Attributes:
        parts: The tasks of each stage, query by query; ``None`` if one is not known.
        offered: How many tasks the application can run at once.
        setting: What to change so that they are enough, with headroom.
        buffers_mib: The most that records on their way can take of the executors' heaps.
    """

    parts: tuple[int, ...] | None
    offered: int
    setting: str
    buffers_mib: int

    @property
    def needed(self) -> int | None:
        """The sum."""
        return None if self.parts is None else sum(self.parts)

    @property
    def with_headroom(self) -> int | None:
        """The sum and what should stay free."""
        return None if self.needed is None else math.ceil(self.needed * (1 + HEADROOM))

    @property
    def is_enough(self) -> bool:
        """Whether the queries can start; so it is assumed where nobody knows."""
        return self.needed is None or self.needed <= self.offered


def size(queries: Sequence[CheckedQuery]) -> Size:
    """Adds up what queries of one application take together."""
    known = [query for query in queries if query.slots_needed is not None]
    parts = (
        tuple(itertools.chain.from_iterable(_parts(query) for query in known)) if len(known) == len(queries) else None
    )
    offered = max((_offered(query) for query in queries), default=0)
    bare = Size(parts=parts, offered=offered, setting="", buffers_mib=sum(_buffers_mib(query) for query in known))
    setting = _setting(queries[0], bare.with_headroom) if queries and bare.with_headroom is not None else ""
    return Size(parts=parts, offered=offered, setting=setting, buffers_mib=bare.buffers_mib)


def _parts(query: CheckedQuery) -> tuple[int, ...]:
    return (*(source.tasks or 0 for source in query.sources), *query.shuffles)


def _offered(query: CheckedQuery) -> int:
    """The slots of now; on a cluster executors may still be on their way."""
    settings = query.settings
    if "spark.executor.instances" not in settings or "spark.executor.cores" not in settings:
        return query.slots
    cores = int(settings["spark.executor.instances"]) * int(settings["spark.executor.cores"])
    return max(query.slots, cores // int(settings.get("spark.task.cpus", "1")))


def _setting(query: CheckedQuery, slots: int) -> str:
    master = query.settings.get("spark.master", "local")
    if master.startswith("local"):
        return f"--master local[{slots}]"
    cores = int(query.settings.get("spark.executor.cores", "1"))
    if master.startswith("spark://"):
        return f"spark.cores.max={slots}"
    return f"spark.executor.instances={math.ceil(slots / cores)} with spark.executor.cores={cores}"


def _buffers_mib(query: CheckedQuery) -> int:
    stages = (sum(source.tasks or 0 for source in query.sources), *query.shuffles)
    # Each task of a stage but the last sends, each of a stage but the first receives.
    ends = sum(stages[:-1]) + sum(stages[1:])
    partitions = sum(len(source.records) for source in query.sources)
    return ends * _SHUFFLE_MIB + partitions * _PARTITION_MIB + _PRODUCER_MIB
