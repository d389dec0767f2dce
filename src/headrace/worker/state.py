# SPDX-License-Identifier: Apache-2.0
"""Calls a stateful processor batch by batch, with the clock as its processing time.

Spark's worker reads its input to the end before it looks at timers, and groups all of it by key, so that the last key
waits for the next record. Here each batch is grouped and answered by itself; the steps that belong to the end of the
input, expired timers and ``close``, come when it is there. Timers of processing time are looked at all the time: the
engine sends an empty batch when nothing comes.

Reaches into PySpark: the function that ``pyspark.worker.read_udfs`` gives for a processor holds, among others, ``udf``
(calls the processor for one step), ``return_type`` and the client for state. Its times come from
``StatefulProcessorApiClient.get_timestamps``; ``TransformWithStateInPandasUdfUtils`` has its mode of time
(``_time_mode``) and the user's processor (``_stateful_processor``), which it opens when it runs the first step.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle
from pyspark.sql.streaming.stateful_processor_api_client import (
    StatefulProcessorApiClient as Client,
)
from pyspark.sql.streaming.stateful_processor_api_client import (
    StatefulProcessorHandleState as HandleState,
)
from pyspark.sql.streaming.stateful_processor_util import (
    TransformWithStateInPandasFuncMode as Step,
)

from . import posted, values
from .values import VALUES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

BETWEEN_TIMERS_S = 0.02


@functools.cache
def install() -> None:
    """Puts our clock and our calls in the place of Spark's, once in this process."""
    Client.get_timestamps = clock(Client.get_timestamps)  # type: ignore[method-assign]
    posted.install()
    # Around the calls that are posted.
    values.install()


def clock(spark: Callable[..., tuple[int, int]]) -> Callable[..., tuple[int, int]]:
    """Makes processing time the time of day, not the time at which the epoch began."""

    def get_timestamps(client: Client, time_mode: str) -> tuple[int, int]:
        _, watermark = times = spark(client, time_mode)
        return (int(time.time() * 1000), watermark) if time_mode.lower() == "processingtime" else times

    return get_timestamps


def by_batch(
    function: Callable[..., Any], desk: str | None, *, in_pandas: bool
) -> Callable[..., Iterator[pa.RecordBatch]]:
    """Turns Spark's function of a whole input into one that answers each batch.

    Args:
        function: Spark's.
        desk: The socket at which the JVM takes and gives values.
        in_pandas: Whether the processor is one of pandas frames.
    """
    parts = inspect.getclosurevars(function).nonlocals
    processor = (PandasProcessor if in_pandas else RowProcessor)(function, parts)
    posted.forget()
    VALUES.begin(desk, processor.client.key_schema)

    def call(partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        processor.open()
        VALUES.announce()
        looked = time.monotonic()
        nothing: list[pa.RecordBatch] = []
        for batch in batches:
            answers = []
            if batch.num_rows:
                keys = keys_of(batch, parts["key_offsets"])
                rows, brought = without_values(batch)
                VALUES.learn(keys, brought)
                VALUES.fetch(keys)
                answers = processor.rows(partition, rows)
            if processor.has_timers and time.monotonic() - looked >= BETWEEN_TIMERS_S:
                answers += processor.step(Step.PROCESS_TIMER)
                # Ready for rows again.
                processor.client.set_handle_state(HandleState.INITIALIZED)
                looked = time.monotonic()
            posted.finish(processor.client)
            VALUES.flush_if_many()
            made = joined(answers)
            nothing = nothing or [answer.slice(0, 0) for answer in made[:1]]
            # The JVM waits for an answer to what it has sent before it sends much more.
            yield from made or nothing
        yield from joined(processor.step(Step.PROCESS_TIMER))
        # The epoch is committed once the answers end.
        VALUES.finish()
        yield from joined(processor.step(Step.COMPLETE))

    return call


def keys_of(batch: pa.RecordBatch, offsets: list[int]) -> list[tuple[Any, ...]]:
    """Returns the key of each row of a batch."""
    return list(zip(*(batch.column(at).to_pylist() for at in offsets), strict=True))


def without_values(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[bytes | None]]:
    """Takes off what rows were sent with behind their own columns: the values of their keys."""
    last = batch.num_columns - 1
    return batch.select(range(last)), batch.column(last).to_pylist()


class Processor:
    """What both forms have in common.

    Args:
        parts: What Spark's function of a whole input holds.
    """

    def __init__(self, parts: Mapping[str, Any]) -> None:
        self.client: Client = parts["stateful_processor_api_client"]
        self._udf = parts["udf"]
        self._steps = steps_of(self._udf)
        self.has_timers = self._steps._time_mode.lower() == "processingtime"  # noqa: SLF001 nobody else tells

    def open(self) -> None:
        """Opens the user's processor before the first row comes, not with it: that row then brings its values along."""
        self._steps._stateful_processor.init(StatefulProcessorHandle(self.client))  # noqa: SLF001 as Spark does it
        self.client.set_handle_state(HandleState.INITIALIZED)


class RowProcessor(Processor):
    """A processor of rows. Spark makes an Arrow batch of each key's answers; here a batch of rows gives one.

    Args:
        _function: Spark's function of a whole input.
        parts: What it holds.
    """

    def __init__(self, _function: Callable[..., Any], parts: Mapping[str, Any]) -> None:
        super().__init__(parts)
        self._keys: list[int] = parts["key_offsets"]
        self._kind: pa.StructType = to_arrow_type(parts["return_type"], timezone="UTC", prefers_large_types=False)
        self._is_flat = not any(pa.types.is_nested(field.type) for field in self._kind)
        self._names = [field.name for field in self._kind]

    def rows(self, _partition: int, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Calls the processor once for each key of a batch, as long as rows of a key stand together.

        Keys are compared and not looked up, as Spark does it: one may be a struct.
        """
        make = Row(*batch.schema.names)
        columns = [column.to_pylist() for column in batch.columns]
        answers: list[Row] = []
        for key, rows in itertools.groupby(zip(*columns, strict=True), lambda row: tuple(row[at] for at in self._keys)):
            answers += self._udf(self.client, Step.PROCESS_DATA, key, (make(*row) for row in rows))
        return [self._packed(answers)]

    def step(self, step: Step) -> list[pa.RecordBatch]:
        """Runs a step that has no rows of its own."""
        return [self._packed(self._udf(self.client, step, None, iter(())))]

    def _packed(self, answers: Iterable[Row]) -> pa.RecordBatch:
        rows = [row if self._is_in_order(row) else self._by_name(row) for row in answers]
        return pa.RecordBatch.from_arrays([pa.array(rows, self._kind)], ["_0"])

    def _is_in_order(self, row: Row) -> bool:
        """Says whether a row has the fields of the answer, one by one; inside of fields nobody has looked."""
        return self._is_flat and getattr(row, "__fields__", None) == self._names

    def _by_name(self, row: Row) -> tuple[Any, ...]:
        fields = row.asDict(recursive=True)
        return tuple(fields.get(name) for name in self._names)


class PandasProcessor(Processor):
    """A processor of pandas frames: Spark's own function, called for one batch at a time without its last steps.

    Args:
        function: Spark's function of a whole input.
        parts: What it holds.
    """

    def __init__(self, function: Callable[..., Any], parts: Mapping[str, Any]) -> None:
        super().__init__(parts)
        self._function = function
        self._runs: Step | None = None
        at = function.__code__.co_freevars.index("udf")
        assert function.__closure__ is not None
        function.__closure__[at].cell_contents = self._one_step

    def _one_step(self, client: Client, step: Step, key: object, rows: Iterator[Any]) -> Any:  # noqa: ANN401
        return self._udf(client, step, key, rows) if step is self._runs else iter(())

    def rows(self, partition: int, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Calls the processor once for each key of a batch, as long as rows of a key stand together."""
        return self._run(Step.PROCESS_DATA, partition, [batch])

    def step(self, step: Step) -> list[pa.RecordBatch]:
        """Runs a step that has no rows of its own."""
        return self._run(step, 0, [])

    def _run(self, step: Step, partition: int, batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        self._runs = step
        return list(self._function(partition, iter(batches)))


def steps_of(udf: Callable[..., Any]) -> Any:  # noqa: ANN401 Spark's own types
    """Finds what runs the steps of a processor behind Spark's function."""
    while not hasattr(udf, "__self__"):
        udf = udf.__wrapped__ if hasattr(udf, "__wrapped__") else inner(udf)
    return udf.__self__


def inner(udf: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function that another one wraps."""
    held = inspect.getclosurevars(udf).nonlocals
    found: Callable[..., Any] = next(value for value in held.values() if callable(value))
    return found


def joined(answers: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Makes one batch of several."""
    filled = [answer for answer in answers if answer.num_rows] or answers[:1]
    return filled if len(filled) < 2 else pa.Table.from_batches(filled).combine_chunks().to_batches()  # noqa: PLR2004
