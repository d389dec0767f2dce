# SPDX-License-Identifier: Apache-2.0
"""Several Kafka partitions in one task of a real-time query."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pytest

from headrace.local import Record, Writer
from headrace.testing import eventually
from tests.integration.kafka.streams import PATIENCE, Mode

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from tests.integration.kafka.streams import Streams

BACKLOG = 200_000


def running_tasks(streams: Streams, query: StreamingQuery) -> int:
    """Returns how many tasks the query runs now."""
    tracker = streams.spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(str(query.runId))]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    return sum(stage.numActiveTasks for stage in stages if stage is not None)


@pytest.mark.parametrize(("tasks", "limit"), [(2, 2), (3, 3), (8, 8), (8, 100)])
def test_partitions_share_tasks(streams: Streams, tasks: int, limit: int):
    """MaxPartitions is how many tasks there are at most; each record is read once, those of a partition in order."""
    kafka = streams.kafka
    topic, out = kafka.topic(partitions=8), kafka.topic("out", partitions=1)
    kafka.produce(topic, [Record(value=f"{n}".encode(), partition=n % 8) for n in range(400)])
    rows = streams.read(subscribe=topic, maxPartitions=limit)
    rows = rows.selectExpr("concat_ws('/', partition, spark_partition_id()) key", "value")
    query = streams.start(rows, topic=out)
    records = streams.wait_for(query, out, 400)
    eventually(lambda: running_tasks(streams, query) == tasks, PATIENCE)
    read: dict[bytes | None, list[int]] = defaultdict(list)
    for record in records:
        read[record.key].append(int(record.value or b""))
    assert sorted(read.values()) == [list(range(partition, 400, 8)) for partition in range(8)]


def test_new_partitions_stay_within_the_limit(streams: Streams):
    """A topic that grows still needs no more tasks than maxPartitions."""
    kafka = streams.kafka
    topic, out = kafka.topic(partitions=1), kafka.topic("out")
    kafka.produce(topic, ["first"])
    query = streams.copy(out, subscribe=topic, maxPartitions=2)
    streams.wait_for(query, out, 1)
    kafka.topics.grow(topic, 6)
    kafka.produce(topic, [Record(value=f"{n}".encode(), partition=n) for n in range(6)])
    streams.wait_for(query, out, 7)
    eventually(lambda: running_tasks(streams, query) == 2, PATIENCE)


def test_a_busy_partition_does_not_starve_the_others(streams: Streams):
    """Records of a quiet partition come out long before the backlog of another in the same task is worked off."""
    kafka = streams.kafka
    topic, out = kafka.topic(partitions=3), kafka.topic("out", partitions=1)
    kafka.produce(topic, [Record(value=b"busy", partition=0) for _ in range(BACKLOG)])
    kafka.produce(topic, [Record(value=b"early", partition=1)])
    quiet = Writer(kafka.bootstrap)
    query = streams.copy(out, subscribe=topic, maxPartitions=1)
    streams.wait_for(query, out, 1)
    quiet.write(topic, Record(value=b"late", partition=2))
    quiet.flush()
    records = streams.wait_for(query, out, BACKLOG + 2)
    values = [record.value for record in records]
    # Partitions take turns by fetches, and a fetch holds at least one batch of the writer's: here ten thousand records.
    assert values.index(b"early") <= 20_000
    assert values.index(b"late") < BACKLOG


def test_the_limit_does_not_hinder_other_modes(streams: Streams):
    """The same options serve a query whose trigger is switched back."""
    topic = streams.kafka.topic(partitions=4)
    streams.kafka.produce(topic, [Record(value=f"{n}".encode(), partition=n) for n in range(4)])
    for mode in (Mode.BATCH, Mode.MICRO_BATCH):
        assert len(streams.values(mode, 4, subscribe=topic, maxPartitions=2)) == 4
