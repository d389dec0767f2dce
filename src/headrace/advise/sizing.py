# SPDX-License-Identifier: Apache-2.0
"""What real-time queries take from their application: slots, and memory for what is on its way."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
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
_WORKER_MIB = 100
"""A Python worker with pandas and Arrow and nothing of the user's own: 97 MiB on the machine of the benchmarks, without
what it shares with the others."""
_STORE_MIB = 8 + 2 * 64
"""RocksDB's block cache as Spark sets it, and its two write buffers: as much as one state store takes at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """The slots of one or several queries beside those of the application.

    Attributes:
        parts: The tasks of each stage, query by query; ``None`` if one is not known.
        offered: How many tasks the application can run at once.
        setting: What to change so that they are enough, with headroom.
        buffers_mib: The most that records on their way can take of the executors' heaps.
        workers_mib: What the Python workers take, outside of the heaps, before they load what the user's code needs.
        stores_mib: The most that the caches and buffers of state stores take, outside of the heaps.
    """

    parts: tuple[int, ...] | None
    offered: int
    setting: str
    buffers_mib: int
    workers_mib: int
    stores_mib: int

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
    bare = Size(
        parts=parts,
        offered=offered,
        setting="",
        buffers_mib=sum(_buffers_mib(query) for query in known),
        workers_mib=_WORKER_MIB * sum(_tasks(query, query.python_stages) for query in known),
        stores_mib=_STORE_MIB * sum(_tasks(query, query.state_stages) for query in known),
    )
    if not queries or bare.with_headroom is None:
        return bare
    return replace(bare, setting=_setting(queries[0], bare.with_headroom))


def _stages(query: CheckedQuery) -> tuple[int, ...]:
    """The tasks of each stage."""
    return (sum(source.tasks or 0 for source in query.sources), *query.shuffles)


def _tasks(query: CheckedQuery, stages: Sequence[int]) -> int:
    """The tasks of some stages."""
    tasks = _stages(query)
    return sum(tasks[stage] for stage in stages)


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
    stages = _stages(query)
    # Each task of a stage but the last sends, each of a stage but the first receives.
    ends = sum(stages[:-1]) + sum(stages[1:])
    partitions = sum(len(source.records) for source in query.sources)
    return ends * _SHUFFLE_MIB + partitions * _PARTITION_MIB + _PRODUCER_MIB
