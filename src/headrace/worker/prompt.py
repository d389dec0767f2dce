# SPDX-License-Identifier: Apache-2.0
"""Makes Spark's worker answer each batch at once, and keep its functions from one epoch to the next.

Reaches into PySpark: ``pyspark.worker.read_udfs`` gives the function of a task with its serializers and
``pyspark.worker.read_command`` unpickles a user's function; both are looked up when a task starts.
"""

from __future__ import annotations

import functools
import os
from collections import OrderedDict
from typing import IO, TYPE_CHECKING, Any

from pyspark import worker
from pyspark.accumulators import _accumulatorRegistry
from pyspark.core.broadcast import _broadcastRegistry
from pyspark.util import PythonEvalType

from . import letters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.serializers import FramedSerializer

MOST_REMEMBERED = 64
_STATEFUL = (
    PythonEvalType.SQL_TRANSFORM_WITH_STATE_PANDAS_UDF,
    PythonEvalType.SQL_TRANSFORM_WITH_STATE_PYTHON_ROW_UDF,
)


@functools.cache
def install() -> None:
    """Puts our readers in the place of Spark's, once in this process; a worker that is used again asks again."""
    remembered = Remembered(worker.read_command)
    worker.read_command = remembered  # type: ignore[assignment] # it is called the same way
    worker.read_udfs = answering_at_once(worker.read_udfs, remembered)


def answering_at_once(read_udfs: Callable[..., Any], remembered: Remembered) -> Callable[..., Any]:
    """Makes the functions that Spark reads answer batch by batch.

    Arrow batches are flushed one by one. Spark unpacks pickled rows into one stream and packs results by a hundred: the
    last ones would wait for more. Here a batch of rows gives a batch of results.
    """

    def read(pickles: Any, infos: Any, eval_type: int, *settings: Any) -> tuple[Any, Any, Any, Any]:  # noqa: ANN401
        if "HEADRACE_WRITER" in os.environ:
            # A writer of ``foreach`` brings its own serializers and gives nothing back; it is opened in each epoch.
            remembered.is_on = False
            function, profiler, reader, writer = worker.read_command(pickles, infos[0].udfs[0])
            return function, profiler, reader, writer
        if eval_type in _STATEFUL:
            from . import state  # noqa: PLC0415 most workers have no use for it, and it needs protobuf

            # A processor is opened and closed in each epoch, and may keep what it likes in between.
            remembered.is_on = False
            state.install()
            function, profiler, reader, writer = read_udfs(pickles, infos, eval_type, *settings)
            in_pandas = eval_type == PythonEvalType.SQL_TRANSFORM_WITH_STATE_PANDAS_UDF
            desk = settings[1].get("headrace_values", None, lower_str=False)
            function = state.by_batch(function, desk, in_pandas=in_pandas)
        else:
            remembered.is_on = True
            function, profiler, reader, writer = read_udfs(pickles, infos, eval_type, *settings)
            if eval_type != PythonEvalType.SQL_BATCHED_UDF:
                function = letters.minding(function, eval_type, large_types=settings[0].use_large_var_types)
        if eval_type == PythonEvalType.SQL_BATCHED_UDF:
            function = (
                letters.pickled_by_row(function)
                if letters.are_on()
                else letters.naming_the_row(by_batch(function), letters.pickled_rows)
            )
            return function, profiler, reader.serializer, Flushing(writer.serializer)
        writer._flush_per_batch = True  # noqa: SLF001 Spark's own worker sets it from outside too
        return function, profiler, reader, writer

    return read


def by_batch(function: Callable[[int, Iterator[Any]], Iterable[Any]]) -> Callable[..., Iterator[list[Any]]]:
    """Turns a function of rows into one of batches of rows."""

    def call(partition: int, batches: Iterator[list[Any]]) -> Iterator[list[Any]]:
        return (list(function(partition, iter(rows))) for rows in batches)

    return call


class Flushing:
    """Writes each batch at once.

    Args:
        serializer: How a batch becomes bytes.
    """

    def __init__(self, serializer: Any) -> None:  # noqa: ANN401 Spark's own have no types
        self._serializer = serializer

    def dump_stream(self, batches: Iterator[list[Any]], stream: IO[bytes]) -> None:
        """Writes batches as they come."""
        for batch in batches:
            self._serializer.dump_stream([batch], stream)
            stream.flush()


class Remembered:
    """Reads functions, and each only once: the tasks of the next epoch find it as it is.

    Functions with accumulators or broadcast variables are read anew, because both belong to one task.

    Args:
        read_command: Spark's own reader.

    Attributes:
        is_on: Whether functions are kept and found again.
    """

    def __init__(self, read_command: Callable[..., Any]) -> None:
        self.is_on = True
        self._read = read_command
        self._known: OrderedDict[bytes, Any] = OrderedDict()

    def __call__(self, serializer: FramedSerializer, source: Any) -> Any:  # noqa: ANN401 Spark's own types
        """Reads a function from its pickle, or from a stream that holds one."""
        if not self.is_on or not isinstance(source, bytes | memoryview):
            return self._read(serializer, source)
        pickle = bytes(source)
        if pickle in self._known:
            self._known.move_to_end(pickle)
            return self._known[pickle]
        command = self._read(serializer, source)
        if not _accumulatorRegistry and not _broadcastRegistry:
            self._known[pickle] = command
            if len(self._known) > MOST_REMEMBERED:
                self._known.popitem(last=False)
        return command
