# SPDX-License-Identifier: Apache-2.0
"""What becomes of rows on which a function fails: the query fails and names the row, or the rows become dead letters.

Without dead letters an error ends the query. A batch may hold many rows, so the row is looked for: the rows are given
to the function one by one, and the error carries the number of the first that fails again.

With dead letters the answers have one more column, with the error of each row that has no answer. A function of one
row is called again for each row of a batch that failed; others lose the whole batch. A function of an iterator is at
its end when it has failed, so it is called anew with what comes next.
"""

from __future__ import annotations

import itertools
import json
import os
import traceback
from typing import TYPE_CHECKING, Any

from pyspark.util import PythonEvalType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

SWITCH = "HEADRACE_DEAD_LETTERS"
"""Set by the engine where dead letters are on, to the schema of the answers."""

ROW_NOTE = "headrace: row "
LONGEST_ERROR = 10_000
MOST_IN_HAND = 10_000
"""Rows that a function of an iterator may have taken without an answer; with more, it is not known which are lost."""

BY_ROW = (PythonEvalType.SQL_ARROW_BATCHED_UDF, PythonEvalType.SQL_BATCHED_UDF)
BY_BATCH = (PythonEvalType.SQL_SCALAR_PANDAS_UDF, PythonEvalType.SQL_SCALAR_ARROW_UDF)
MAPS = (PythonEvalType.SQL_MAP_PANDAS_ITER_UDF, PythonEvalType.SQL_MAP_ARROW_ITER_UDF)

Function = Any
"""Spark's function of a task: takes the partition and an iterator of batches, gives an iterator of batches."""


def are_on() -> bool:
    """Says whether the engine wants dead letters from this process."""
    return SWITCH in os.environ


def minding(function: Function, eval_type: int, *, large_types: bool) -> Function:
    """Makes a function of Arrow batches say which rows it failed on."""
    if not are_on():
        return naming_the_row(function, arrow_rows) if eval_type in BY_ROW else function
    answers = Answers(large_types=large_types)
    if eval_type in (*BY_ROW, *BY_BATCH):
        return sorting_out(function, answers, by_row=eval_type in BY_ROW)
    return mapping(function, answers) if eval_type in MAPS else iterating(function, answers)


def error_text(error: Exception) -> str:
    """Returns the end of an error's traceback: what happened stands last."""
    return "".join(traceback.format_exception(error))[-LONGEST_ERROR:]


class Answers:
    """Makes batches of answers with a column of errors behind them.

    Args:
        large_types: Whether Spark wants Arrow's large types.
    """

    def __init__(self, *, large_types: bool) -> None:
        import pyarrow as pa  # noqa: PLC0415 pickled functions do without
        from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415 as above
        from pyspark.sql.types import StructType  # noqa: PLC0415 as above

        schema = StructType.fromJson(json.loads(os.environ[SWITCH]))
        self._fields = list(to_arrow_schema(schema, timezone="UTC", prefers_large_types=large_types))
        self._schema = pa.schema([*self._fields, pa.field("error", pa.string())])
        self._pa = pa

    def fine(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Answers without an error."""
        columns = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(batch.columns, self._fields, strict=True)
        ]
        return self._batch(columns, self._pa.nulls(batch.num_rows, self._pa.string()))

    def failed(self, rows: int, error: Exception) -> pa.RecordBatch:
        """No answers, and why."""
        columns = [self._pa.nulls(rows, field.type) for field in self._fields]
        return self._batch(columns, self._pa.array([error_text(error)] * rows, self._pa.string()))

    def counted(self, batch: pa.RecordBatch, taken: int) -> pa.RecordBatch:
        """Answers of a function that gives any number of rows: the first says how many rows they are made of."""
        counts = self._pa.array([taken, *itertools.repeat(0, batch.num_rows - 1)], self._pa.int32())
        return self.fine(self._pa.RecordBatch.from_arrays([*batch.columns, counts], ["rows", "taken"]))

    def nothing(self, taken: int) -> pa.RecordBatch:
        """The same, when it gave no row: one that is all null could be an answer, so an empty error tells."""
        return self._told(taken, "")

    def lost(self, taken: int, error: Exception) -> pa.RecordBatch:
        """The same, when it failed on so many rows."""
        return self._told(taken, error_text(error))

    def _told(self, taken: int, error: str) -> pa.RecordBatch:
        columns = [self._pa.nulls(1, self._fields[0].type), self._pa.array([taken], self._pa.int32())]
        return self._batch(columns, self._pa.array([error], self._pa.string()))

    def _batch(self, columns: list[pa.Array], errors: pa.Array) -> pa.RecordBatch:
        return self._pa.RecordBatch.from_arrays([*columns, errors], schema=self._schema)


def arrow_rows(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """Makes a batch of each row."""
    return [batch.slice(row, 1) for row in range(batch.num_rows)]


def pickled_rows(batch: list[Any]) -> list[list[Any]]:
    """Makes a batch of each row."""
    return [[row] for row in batch]


def naming_the_row(function: Function, rows_of: Callable[[Any], list[Any]]) -> Function:
    """Adds to an error which row of its batch it came from."""

    def call(partition: int, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            try:
                answers = list(function(partition, iter((batch,))))
            except Exception:
                rows = rows_of(batch)
                # One that is alone needs no number, nor a second call.
                for number, row in enumerate(rows if len(rows) > 1 else []):
                    try:
                        list(function(partition, iter((row,))))
                    except Exception as error:
                        error.add_note(f"{ROW_NOTE}{number}")
                        raise
                raise
            yield from answers

    return call


def sorting_out(function: Function, answers: Answers, *, by_row: bool) -> Function:
    """Gives up the batch on which the function failed, or of its rows only those that it fails on by themselves."""

    def call(partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            try:
                done = [answers.fine(answer) for answer in function(partition, iter((batch,)))]
            except Exception as error:  # noqa: BLE001 whatever the user's function raises
                if by_row and batch.num_rows > 1:
                    done = list(call(partition, iter(arrow_rows(batch))))
                else:
                    done = [answers.failed(batch.num_rows, error)]
            yield from done

    return call


def pickled_by_row(function: Function) -> Callable[..., Iterator[list[Any]]]:
    """The same for rows that are pickled: each answer is a pair of a value and an error."""

    def call(partition: int, batches: Iterator[list[Any]]) -> Iterator[list[tuple[Any, str | None]]]:
        for batch in batches:
            try:
                yield [(answer, None) for answer in function(partition, iter(batch))]
            except Exception:  # noqa: BLE001 whatever the user's function raises
                yield [one(partition, row) for row in batch]

    def one(partition: int, row: Any) -> tuple[Any, str | None]:  # noqa: ANN401 a tuple of arguments
        try:
            return next(iter(function(partition, iter((row,))))), None
        except Exception as error:  # noqa: BLE001 as above
            return None, error_text(error)

    return call


class Taken:
    """Counts the rows that a function of an iterator has taken.

    Args:
        batches: What it takes.

    Attributes:
        unanswered: Rows taken and not answered yet.
        is_broken: Whether the batches themselves failed: that is not the function's fault.
    """

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self.unanswered = 0
        self.is_broken = False

    def __iter__(self) -> Taken:
        """Returns itself, as iterators do."""
        return self

    def __next__(self) -> pa.RecordBatch:
        """Takes a batch."""
        try:
            batch = next(self._batches)
        except StopIteration:
            raise
        except Exception:
            self.is_broken = True
            raise
        self.unanswered += batch.num_rows
        return batch

    def answered(self, rows: int) -> None:
        """Says that so many rows have their answers."""
        self.unanswered -= rows

    def give_up(self) -> int | None:
        """Returns how many rows have no answer and will not get one; nothing if that is not known."""
        lost, self.unanswered = self.unanswered, 0
        return None if self.is_broken or not 0 < lost <= MOST_IN_HAND else lost


def iterating(function: Function, answers: Answers) -> Function:
    """Gives up what a function of an iterator had in hand, and calls it anew."""

    def call(partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        taken = Taken(batches)
        while True:
            try:
                for answer in function(partition, taken):
                    taken.answered(answer.num_rows)
                    yield answers.fine(answer)
            except Exception as error:
                rows_lost = taken.give_up()
                if rows_lost is None:
                    raise
                yield answers.failed(rows_lost, error)
            else:
                return

    return call


def mapping(function: Function, answers: Answers) -> Function:
    """The same for functions that give any number of rows: an answer is for all rows taken before it, an empty one too.

    It is sent like any other, at once: the engine waits for answers before it sends more.
    """

    def call(partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        taken = Taken(batches)
        while True:
            try:
                for answer in function(partition, taken):
                    rows, taken.unanswered = taken.unanswered, 0
                    yield answers.counted(answer, rows) if answer.num_rows else answers.nothing(rows)
            except Exception as error:
                rows_lost = taken.give_up()
                if rows_lost is None:
                    raise
                yield answers.lost(rows_lost, error)
            else:
                return

    return call
