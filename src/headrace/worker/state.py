# SPDX-License-Identifier: Apache-2.0
"""Calls a stateful processor batch by batch, with the clock as its processing time.

Spark's worker reads its input to the end before it looks at timers, and groups all of it by key, so that the last key
waits for the next record. Here Spark's function is called once for each batch; the steps that belong to the end of the
input, expired timers and ``close``, are held back until it is there. Timers of processing time are looked at all the
time: the engine sends an empty batch when nothing comes.

Reaches into PySpark: ``TransformWithStateInPandasUdfUtils.transformWithStateUDF`` is what Spark's function calls for
each step, ``StatefulProcessorApiClient.get_timestamps`` is where a processor's times come from.
"""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor_api_client import (
    StatefulProcessorApiClient,
    StatefulProcessorHandleState,
)
from pyspark.sql.streaming.stateful_processor_util import (
    TransformWithStateInPandasFuncMode as Step,
)
from pyspark.sql.streaming.stateful_processor_util import (
    TransformWithStateInPandasUdfUtils as Utils,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BETWEEN_TIMERS_S = 0.02


class Steps:
    """Which steps of a processor run now, and what is known of the task since its last call."""

    def __init__(self) -> None:
        self.held: frozenset[Step] = frozenset()
        self.client: StatefulProcessorApiClient | None = None
        self.has_timers = False
        self.looked = 0.0


STEPS = Steps()


@functools.cache
def install() -> None:
    """Puts our steps and our clock in the place of Spark's, once in this process."""
    Utils.transformWithStateUDF = stepwise(Utils.transformWithStateUDF)  # type: ignore[method-assign]
    StatefulProcessorApiClient.get_timestamps = clock(StatefulProcessorApiClient.get_timestamps)  # type: ignore[method-assign]


def stepwise(spark: Callable[..., Any]) -> Callable[..., Any]:
    """Leaves out the steps that are held back."""

    def step(self: Utils, client: StatefulProcessorApiClient, mode: Step, key: object, rows: object) -> Any:  # noqa: ANN401
        STEPS.client = client
        STEPS.has_timers = self._time_mode.lower() == "processingtime"
        return iter(()) if mode in STEPS.held else spark(self, client, mode, key, rows)

    return step


def clock(spark: Callable[..., tuple[int, int]]) -> Callable[..., tuple[int, int]]:
    """Makes processing time the time of day, not the time at which the epoch began."""

    def get_timestamps(client: StatefulProcessorApiClient, time_mode: str) -> tuple[int, int]:
        _, watermark = times = spark(client, time_mode)
        return (int(time.time() * 1000), watermark) if time_mode.lower() == "processingtime" else times

    return get_timestamps


def by_batch(function: Callable[[int, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]) -> Callable[..., Any]:
    """Turns Spark's function of a whole input into one that answers each batch."""

    def call(partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        STEPS.looked = time.monotonic()
        for batch in batches:
            answers = []
            if batch.num_rows:
                answers += run(function, partition, batch, {Step.PROCESS_TIMER, Step.COMPLETE})
            if STEPS.has_timers and time.monotonic() - STEPS.looked >= BETWEEN_TIMERS_S:
                answers += timers(function, partition)
            yield from joined(answers)
        yield from joined(run(function, partition, None, set()))

    return call


def run(function: Callable[..., Any], partition: int, batch: pa.RecordBatch | None, held: set[Step]) -> list[Any]:
    """Calls Spark's function for one batch, or for none, without some of its steps."""
    STEPS.held = frozenset(held)
    try:
        return list(function(partition, iter([] if batch is None else [batch])))
    finally:
        STEPS.held = frozenset()


def timers(function: Callable[..., Any], partition: int) -> list[Any]:
    """Calls the processor for each timer whose time has come, and leaves it as ready for rows as it was."""
    answers = run(function, partition, None, {Step.COMPLETE})
    assert STEPS.client is not None
    STEPS.client.set_handle_state(StatefulProcessorHandleState.INITIALIZED)
    STEPS.looked = time.monotonic()
    return answers


def joined(answers: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Makes one batch of the answers: Spark gives one for each key."""
    if len(answers) < 2:  # noqa: PLR2004 nothing to join
        return answers
    filled = [answer for answer in answers if answer.num_rows] or answers[:1]
    return filled if len(filled) == 1 else pa.Table.from_batches(filled).combine_chunks().to_batches()
