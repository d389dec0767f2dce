# SPDX-License-Identifier: Apache-2.0
"""Queries between topics, the same for every way Spark has to run them."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.testing import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.local import Record
    from headrace.testing import Kafka

PATIENCE = timedelta(seconds=60)

Value: TypeAlias = str | int | bool
Options: TypeAlias = dict[str, Value]
"""Options of a reader or writer, as Spark takes them."""
Trigger: TypeAlias = dict[str, Any]
"""Arguments of ``trigger``; PySpark's own types do not know ``realTime``."""


class Mode(enum.Enum):
    """How Spark runs a query."""

    BATCH = "batch"
    MICRO_BATCH = "micro-batch"
    AVAILABLE_NOW = "available-now"
    REAL_TIME = "real-time"

    @property
    def trigger(self) -> Trigger:
        """The arguments of ``trigger``; epochs last longer than any test."""
        triggers: dict[Mode, Trigger] = {
            Mode.MICRO_BATCH: {"processingTime": "0 seconds"},
            Mode.AVAILABLE_NOW: {"availableNow": True},
            Mode.REAL_TIME: {"realTime": "5 minutes"},
        }
        return triggers[self]


STREAMING = (Mode.MICRO_BATCH, Mode.AVAILABLE_NOW, Mode.REAL_TIME)
CONTINUING = (Mode.MICRO_BATCH, Mode.REAL_TIME)
"""The modes in which a query runs until it is stopped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Why a query ended.

    Attributes:
        condition: The condition of our error, or ``None`` if the cause was somebody else's.
        parameters: Its parameters.
        text: Everything Spark says about it.
    """

    condition: str | None
    parameters: Mapping[str, str]
    text: str


class Streams:
    """Starts queries against one broker and stops them all at the end of a test.

    Args:
        spark: The session.
        kafka: The broker.
        folder: Where checkpoints go.
    """

    def __init__(self, spark: SparkSession, kafka: Kafka, folder: Path) -> None:
        self.spark = spark
        self.kafka = kafka
        self._folder = folder
        self._queries: list[StreamingQuery] = []

    def read(self, mode: Mode = Mode.REAL_TIME, /, **options: Value) -> DataFrame:
        """Reads topics; a bare ``subscribe`` begins at the first record, unlike Spark's default for streams."""
        reader = self.spark.read if mode is Mode.BATCH else self.spark.readStream
        return reader.format("kafka").options(**self._source(options)).load()

    def _source(self, options: Options) -> dict[str, str]:
        given = {name.replace("__", "."): str(value) for name, value in options.items()}
        begins = any(name.lower().startswith("starting") for name in given)
        defaults = {"kafka.bootstrap.servers": self.kafka.bootstrap}
        return defaults | ({} if begins else {"startingOffsets": "earliest"}) | given

    def _sink(self, options: Options) -> dict[str, str]:
        given = {name.replace("__", "."): str(value) for name, value in options.items()}
        return {"kafka.bootstrap.servers": self.kafka.bootstrap} | given

    def write(self, rows: DataFrame, mode: Mode = Mode.REAL_TIME, /, **options: Value) -> StreamingQuery | None:
        """Writes rows to topics: a finished job in batch, else a query that runs."""
        given = self._sink(options)
        if mode is Mode.BATCH:
            rows.write.format("kafka").options(**given).save()
            return None
        query = self.start(rows, mode, **given)
        if mode is Mode.AVAILABLE_NOW:
            # Raises what the query raised.
            assert query.awaitTermination(int(PATIENCE.total_seconds())), "available-now did not end"
        return query

    def start(self, rows: DataFrame, how: Mode | Trigger = Mode.REAL_TIME, /, **options: Value) -> StreamingQuery:
        """Starts a stream that writes rows to topics; it may fail at once."""
        given = self._sink(options)
        given.setdefault("checkpointLocation", self.checkpoint())
        writer = rows.writeStream.format("kafka").options(**given).outputMode("update")
        query = writer.trigger(**(how.trigger if isinstance(how, Mode) else how)).start()
        self._queries.append(query)
        return query

    def copy(self, to: str | Options, mode: Mode = Mode.REAL_TIME, /, **options: Value) -> StreamingQuery:
        """Starts a stream that copies keys and values.

        Args:
            to: The topic to write to, or all options of the sink.
            mode: How to run it.
            options: The reader's options.
        """
        rows = self.read(mode, **options).select("key", "value")
        return self.start(rows, mode, **({"topic": to} if isinstance(to, str) else to))

    def values(self, mode: Mode, count: int, /, **options: Value) -> list[bytes]:
        """Returns the values that a query in this mode reads from what ``options`` name.

        Args:
            mode: How to read.
            count: How many records there are; one that is not there fails the test, and so does one too many.
            options: The reader's options; two underscores stand for a full stop.
        """
        if mode is Mode.BATCH:
            return [bytes(row.value) for row in self.read(mode, **options).select("value").collect()]
        out = self.kafka.topic("out", partitions=1)
        query = self.copy(out, mode, **options)
        records = self.wait_for(query, out, count)
        query.stop()
        return [record.value or b"" for record in records]

    def wait_for(
        self, query: StreamingQuery, topic: str, condition: int | Callable[[list[Record]], bool]
    ) -> list[Record]:
        """Reads a topic until a condition holds; a query that fails meanwhile fails the test at once."""

        def enough(records: list[Record]) -> bool:
            error = query.exception()
            assert error is None, error
            return len(records) >= condition if isinstance(condition, int) else condition(records)

        return self.kafka.read_until(topic, enough, timeout=PATIENCE)

    def newest(self, query: StreamingQuery) -> int:
        """Returns the sum of the newest offsets that a query has seen, over its first source."""
        sources = [] if query.lastProgress is None else query.lastProgress.sources
        latest = json.loads(sources[0].latestOffset or "{}") if sources else {}
        return sum(offset for topic in latest.values() for offset in topic.values())

    def checkpoint(self) -> str:
        """Returns a folder that no other query uses."""
        return str(self._folder / f"checkpoint-{len(list(self._folder.iterdir()))}-{len(self._queries)}")

    def failure(self, query: StreamingQuery) -> Failure:
        """Waits until a query has failed and returns why."""
        eventually(lambda: not query.isActive, PATIENCE)
        raised = query._jsq.exception()
        assert raised.isDefined(), "the query ended without an error"
        cause = raised.get()
        text = str(query.exception())
        while cause is not None and not cause.getClass().getName().endswith("HeadraceException"):
            cause = cause.getCause()
        if cause is None:
            return Failure(condition=None, parameters={}, text=text)
        return Failure(condition=cause.getCondition(), parameters=dict(cause.getMessageParameters()), text=text)

    def stop(self) -> None:
        """Stops every query."""
        for query in self._queries:
            query.stop()


def epochs(query: StreamingQuery) -> int:
    """Returns how many epochs or batches of a query are over."""
    progress = query.lastProgress
    return 0 if progress is None else progress.batchId + 1


def lag(query: StreamingQuery) -> int | None:
    """Returns how many offsets a query's first source was behind after its last epoch; ``None`` if not known yet."""
    progress = query.lastProgress
    behind = None if progress is None else progress.sources[0].metrics.get("maxOffsetsBehindLatest")
    return None if behind is None else int(behind)


def parameters(error: PySparkException) -> dict[str, str]:
    """Returns the parameters of our error."""
    return error.getMessageParameters() or {}


def text(value: str, column: str) -> str:
    """Returns an SQL expression for a column of one text."""
    return f"'{value}' {column}"
