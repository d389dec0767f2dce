# SPDX-License-Identifier: Apache-2.0
"""Queries between topics, the same for every way Spark has to run them."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from headrace.testing import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.local import Record
    from headrace.testing import Kafka

PATIENCE = timedelta(seconds=60)


class Mode(enum.Enum):
    """How Spark runs a query."""

    BATCH = "batch"
    MICRO_BATCH = "micro-batch"
    AVAILABLE_NOW = "available-now"
    REAL_TIME = "real-time"

    @property
    def trigger(self) -> dict[str, Any]:
        """The arguments of ``trigger``; epochs last longer than any test."""
        return {
            Mode.MICRO_BATCH: {"processingTime": "0 seconds"},
            Mode.AVAILABLE_NOW: {"availableNow": True},
            Mode.REAL_TIME: {"realTime": "5 minutes"},
        }[self]


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

    def read(self, mode: Mode = Mode.REAL_TIME, **options: object) -> DataFrame:
        """Reads topics; a bare ``subscribe`` begins at the first record, unlike Spark's default for streams."""
        reader = self.spark.read if mode is Mode.BATCH else self.spark.readStream
        return reader.format("kafka").options(**self._source(options)).load()

    def _source(self, options: Mapping[str, object]) -> dict[str, str]:
        given = {name.replace("__", "."): str(value) for name, value in options.items()}
        begins = any(name.lower().startswith("starting") for name in given)
        defaults = {"kafka.bootstrap.servers": self.kafka.bootstrap}
        return defaults | ({} if begins else {"startingOffsets": "earliest"}) | given

    def _sink(self, options: Mapping[str, object]) -> dict[str, str]:
        given = {name.replace("__", "."): str(value) for name, value in options.items()}
        return {"kafka.bootstrap.servers": self.kafka.bootstrap} | given

    def write(self, rows: DataFrame, mode: Mode = Mode.REAL_TIME, **options: object) -> StreamingQuery | None:
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

    def start(self, rows: DataFrame, mode: Mode = Mode.REAL_TIME, **options: object) -> StreamingQuery:
        """Starts a stream that writes rows to topics; it may fail at once."""
        given = self._sink(options)
        given.setdefault("checkpointLocation", self.checkpoint())
        writer = rows.writeStream.format("kafka").options(**given).outputMode("update").trigger(**mode.trigger)
        query = writer.start()
        self._queries.append(query)
        return query

    def copy(
        self, mode: Mode = Mode.REAL_TIME, *, to: str, sink: Mapping[str, object] | None = None, **options: object
    ) -> StreamingQuery:
        """Starts a stream that copies keys and values from what ``options`` name to a topic."""
        return self.start(self.read(mode, **options).select("key", "value"), mode, topic=to, **(sink or {}))

    def values(self, mode: Mode, count: int, **options: object) -> list[bytes]:
        """Returns the values that a query in this mode reads from what ``options`` name.

        Args:
            mode: How to read.
            count: How many records there are; one that is not there fails the test, and so does one too many.
            options: The reader's options; two underscores stand for a full stop.
        """
        if mode is Mode.BATCH:
            return [bytes(row.value) for row in self.read(mode, **options).select("value").collect()]
        out = self.kafka.topic("out", partitions=1)
        query = self.copy(mode, to=out, **options)
        records = self.wait_for(query, out, count)
        query.stop()
        return [record.value or b"" for record in records]

    def wait_for(self, query: StreamingQuery, topic: str, condition: int | Callable[[list[Record]], bool]) -> list[Record]:
        """Reads a topic until a condition holds; a query that fails meanwhile fails the test at once."""

        def enough(records: list[Record]) -> bool:
            error = query.exception()
            assert error is None, error
            return len(records) >= condition if isinstance(condition, int) else condition(records)

        return self.kafka.read_until(topic, enough, timeout=PATIENCE)

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


def numbers(values: list[bytes]) -> list[int]:
    """Returns the numbers at the end of values such as ``b"order 17"``."""
    return [int(re.search(rb"\d+$", value)[0]) for value in values]  # type: ignore[index]  # fails the test
