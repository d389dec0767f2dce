# SPDX-License-Identifier: Apache-2.0
"""Every setting of Spark's that Headrace touches, with the reason.

This table is the only place. The session is built from it, ``headrace run --explain`` prints it, and
``docs/reference/settings.md`` is generated from it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Kind(enum.Enum):
    """What happens when the user sets the same key."""

    REQUIRED = "required"
    """The engine cannot work otherwise; another value of the user's is an error that names both."""

    PREFERENCE = "preference"
    """Ours unless the user says otherwise."""

    LIST = "list"
    """The user's items first, then ours, none twice."""

    OPTIONS = "options"
    """Ours first, then the user's: of two options of a JVM with one meaning, the last wins."""

    LATE = "late"
    """Ours unless the user says otherwise, but put in force by the plugin: spark-submit, which reads the settings of
    the application before it has its jars, could not load the class."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One setting of Spark's that Headrace touches.

    Attributes:
        key: Spark's name for it.
        value: What Headrace sets. Names in braces are filled in when the session starts: ``{jars}`` are the engine
            jar and the libraries it uses, ``{slots}`` is four times the machine's cores and at least sixteen,
            ``{driver_memory}`` and ``{executor_memory}`` are the heaps of the JVMs as the user has set them.
        kind: What happens when the user sets the same key.
        reason: Why, as a clause that also reads well behind a colon, without a full stop.
    """

    key: str
    value: str
    kind: Kind
    reason: str


EXTENSION = "headrace.guard.HeadraceExtensions"
PLUGIN = "headrace.HeadracePlugin"
KAFKA_PROVIDER = "headrace.kafka.KafkaProvider"
"""The class that ``format("kafka")`` must mean."""

FOREIGN_CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10",
    "org.apache.spark:spark-token-provider-kafka-0-10",
    "org.apache.kafka:kafka-clients",
)
"""Spark's own Kafka connector and what it brings along, by group and artifact, without the Scala version."""


SETTINGS = (
    # The engine in the application.
    Setting(
        key="spark.jars",
        value="{jars}",
        kind=Kind.LIST,
        reason="they carry the engine, Kafka's client and a library of histograms to the driver and to every executor",
    ),
    Setting(
        key="spark.jars.packages",
        value="",
        kind=Kind.LIST,
        reason=(
            "nothing is added, but spark-sql-kafka and kafka-clients are taken out: of two connectors for the "
            "format 'kafka' Spark silently prefers its own, and the engine brings its own client"
        ),
    ),
    Setting(
        key="spark.jars.excludes",
        value=(
            "org.apache.spark:spark-sql-kafka-0-10_2.13,org.apache.spark:spark-token-provider-kafka-0-10_2.13,"
            "org.apache.kafka:kafka-clients"
        ),
        kind=Kind.LIST,
        reason="other packages must not bring Spark's Kafka connector back in as a dependency of theirs",
    ),
    Setting(
        key="spark.sql.extensions",
        value=EXTENSION,
        kind=Kind.LIST,
        reason="it checks real-time queries before they start and plans them",
    ),
    Setting(
        key="spark.plugins",
        value=PLUGIN,
        kind=Kind.LIST,
        reason="it is the engine's part in the life of the driver and of each executor",
    ),
    Setting(
        key="spark.driver.extraJavaOptions",
        value="-Xms{driver_memory} -XX:MetaspaceSize=256m -XX:MaxTenuringThreshold=1",
        kind=Kind.OPTIONS,
        reason=(
            "a heap that begins at its full size: a JVM keeps a small one half full and marks it again every few "
            "seconds, with a pause and a busy core each time; nor does it mark because Spark's classes were loaded; "
            "and what survives two collections is left alone: a record does not live that long, and what Spark makes "
            "at its start would be copied fifteen times, with a pause of 16 ms instead of 4 each time"
        ),
    ),
    Setting(
        key="spark.executor.extraJavaOptions",
        value="-Xms{executor_memory} -XX:MetaspaceSize=256m -XX:MaxTenuringThreshold=1",
        kind=Kind.OPTIONS,
        reason="the same in every executor",
    ),
    Setting(
        key="spark.master",
        value="local[{slots}]",
        kind=Kind.PREFERENCE,
        reason=(
            "a real-time query holds one slot per task of all its stages at once, a slot is a mostly waiting thread, "
            "and local[*] has too few of them on a laptop"
        ),
    ),
    # What may run.
    Setting(
        key="spark.sql.streaming.realTimeMode.allowlistCheck",
        value="false",
        kind=Kind.REQUIRED,
        reason="Spark's check knows sinks by class name and refuses ours; the engine's own check takes its place",
    ),
    Setting(
        key="spark.scheduler.pipelinedGroup.slotCheck.enabled",
        value="false",
        kind=Kind.REQUIRED,
        reason=(
            "Spark's check runs once, counts the short tasks of other jobs as taken slots and then fails the query; "
            "the engine checks the slots at every epoch, for stateless queries too"
        ),
    ),
    Setting(
        key="spark.dynamicAllocation.enabled",
        value="false",
        kind=Kind.REQUIRED,
        reason=(
            "all stages of an epoch run at once and need all their slots at its start; Spark itself refuses the two "
            "together"
        ),
    ),
    Setting(
        key="spark.speculation",
        value="false",
        kind=Kind.REQUIRED,
        reason="a task lives as long as its epoch, and a second copy of it would write every record twice",
    ),
    Setting(
        key="spark.sql.streaming.realTimeMode.minBatchDuration",
        value="1000ms",
        kind=Kind.PREFERENCE,
        reason='Spark refuses epochs under 5 seconds; this allows realTime="1 second"',
    ),
    # Checkpoints that can change between micro-batch and real-time mode.
    Setting(
        key="spark.sql.streaming.stateStore.checkpointFormatVersion",
        value="2",
        kind=Kind.REQUIRED,
        reason=(
            "micro-batch queries would write format 1, in which an epoch that is run again can pick up state files of "
            "the failed run; a checkpoint that exists keeps its format"
        ),
    ),
    Setting(
        key="spark.sql.streaming.stateStore.providerClass",
        value="org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        kind=Kind.REQUIRED,
        reason=(
            "checkpoint format 2 exists for RocksDB only, and a query keeps the store it began with; a checkpoint "
            "that exists keeps its store"
        ),
    ),
    Setting(
        key="spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
        value="true",
        kind=Kind.REQUIRED,
        reason=(
            "a commit then writes what changed and not a whole snapshot, and state is committed between two epochs, "
            "where nothing is processed"
        ),
    ),
    Setting(
        key="spark.sql.streaming.realTimeMode.dangerouslyAllowCheckpointV1.enabled",
        value="true",
        kind=Kind.REQUIRED,
        reason=(
            "Spark refuses every checkpoint of format 1, although only state is at risk; the engine continues "
            "stateless ones and refuses stateful ones itself"
        ),
    ),
    # Local checkpoints.
    Setting(
        key="spark.sql.streaming.checkpointFileManagerClass",
        value="headrace.checkpoint.CheckpointFiles",
        kind=Kind.PREFERENCE,
        reason=(
            "on a local disk Spark starts other processes for each file of a checkpoint, and a query with state waits "
            "for them between two epochs; ours writes the same files itself, and has them on the disk before it goes "
            "on; on every other file system it leaves them to Spark's"
        ),
    ),
    Setting(
        key="spark.hadoop.fs.file.impl",
        value="headrace.checkpoint.LocalFiles",
        kind=Kind.LATE,
        reason=(
            "snapshots of state, and whatever else is written to a local disk, do not pass the file manager; this does "
            "the same for them"
        ),
    ),
    # Latency.
    Setting(
        key="spark.python.unix.domain.socket.enabled",
        value="true",
        kind=Kind.PREFERENCE,
        reason=(
            "over TCP a message to or from a Python worker that follows another at once waits until that one is "
            "acknowledged, and that is put off: at each end and start of an epoch, and under load; a local socket "
            "waits for nothing"
        ),
    ),
    Setting(
        key="spark.shuffle.manager.incremental",
        value="org.apache.spark.headrace.StampedShuffle",
        kind=Kind.PREFERENCE,
        reason=(
            "it is Spark's own shuffle of real-time queries, with the time of each record's creation beside its row; "
            "so latency is known behind a shuffle too"
        ),
    ),
    Setting(
        key="spark.shuffle.streaming.networkBufferMaxWaitTimeMs",
        value="10",
        kind=Kind.PREFERENCE,
        reason=(
            "a task that is about to wait sends what it has for the next stage; one that never waits sends a row at "
            "the latest after this long, by default 50 ms. A thread of each task wakes up so often"
        ),
    ),
    Setting(
        key="spark.sql.streaming.statefulOperator.incrementalCleanupFactor",
        value="1",
        kind=Kind.PREFERENCE,
        reason=(
            "expired state is removed at one key per input record instead of all at the epoch's end; as each record "
            "adds at most one key, one keeps pace"
        ),
    ),
    Setting(
        key="spark.headrace.observe",
        value="true",
        kind=Kind.PREFERENCE,
        reason="the latency of every record is measured in the tasks; false leaves it unmeasured",
    ),
    Setting(
        key="spark.headrace.realtime.epoch",
        value="30m",
        kind=Kind.PREFERENCE,
        reason=(
            "how long epochs last at least where progress is recorded inside them, but for the first one of a run: "
            "between two of them nothing is processed"
        ),
    ),
    Setting(
        key="spark.headrace.realtime.tableEpoch",
        value="10m",
        kind=Kind.PREFERENCE,
        reason="the same for queries that join a static table: it is read again with each epoch",
    ),
    Setting(
        key="spark.headrace.realtime.shufflePartitions",
        value="4",
        kind=Kind.PREFERENCE,
        reason=(
            "the shuffle partitions of real-time queries where spark.sql.shuffle.partitions is not set: Spark's 200 "
            "would need 200 slots"
        ),
    ),
    Setting(
        key="spark.headrace.catchUp.batchRecords",
        value="200000",
        kind=Kind.PREFERENCE,
        reason=(
            "the records of a batch while a query catches up: each batch is a commit, and a step of the progress that "
            "is shown"
        ),
    ),
    Setting(
        key="spark.locality.wait",
        value="0s",
        kind=Kind.PREFERENCE,
        reason=(
            "an epoch begins when its last task does; Spark would hold a task back for up to 3 seconds when the "
            "executor with its state is busy"
        ),
    ),
    Setting(
        key="spark.ui.showConsoleProgress",
        value="false",
        kind=Kind.PREFERENCE,
        reason="PySpark draws a progress bar for every stage, and the stages of a real-time query run all the time",
    ),
)
