# SPDX-License-Identifier: Apache-2.0
"""Queries that call Python, as one table: each makes rows of key and value from the records of a topic."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

Build = Callable[[DataFrame], DataFrame]
VECTORISED: Any = F
"""For what PySpark's types do not know: functions of series and arrays, and named arguments."""


def answer(*columns: Column) -> Column:
    """Puts columns into one JSON value; absent ones are told from empty ones."""
    return F.to_json(F.struct(*[column.alias(f"c{number}") for number, column in enumerate(columns)])).alias("value")


def plus_one(value: str | None) -> int | None:
    return None if value is None else len(value) + 1


def twice(value: int | None) -> int | None:
    return None if value is None else 2 * value


def lengths(values: pd.Series) -> pd.Series:
    return values.str.len().fillna(-1).astype("int64")


def lengths_of_many(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
    for values in batches:
        yield lengths(values)


def arrow_lengths(values: pa.Array) -> pa.Array:
    return pc.fill_null(pc.cast(pc.utf8_length(values), pa.int64()), -1)


def arrow_lengths_of_many(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
    for values in batches:
        yield arrow_lengths(values)


def doubled_frames(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        text = frame["text"].fillna("none")
        yield pd.DataFrame({"key": frame["key"], "value": text + "!"})
        yield pd.DataFrame({"key": frame["key"], "value": text + "?"})


def long_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        table = batch.select(["key", "text"]).rename_columns(["key", "value"])
        # A batch may lose all its rows, and a function may swallow it whole.
        kept = table.filter(pc.greater(pc.utf8_length(table["value"]), 5))
        if kept.num_rows:
            yield kept


def to_json(value: Any) -> str | None:  # noqa: ANN401 PySpark's variant
    return None if value is None else str(value.toPython())


def scaled(value: str | None, factor: int = 1) -> int:
    return factor * len(value or "")


MANY_TYPES: dict[str, Callable[[str], Any]] = {
    "boolean": lambda value: len(value) % 2 == 0,
    "double": lambda value: len(value) / 4,
    "string": lambda value: value.upper() + "é",
    "binary": lambda value: value.encode(),
    "date": lambda value: dt.date(2026, 1, 1 + len(value) % 28),
    "timestamp": lambda value: dt.datetime(2026, 1, 1, 12, len(value) % 60, tzinfo=dt.UTC),
    "decimal(20, 4)": lambda value: decimal.Decimal(len(value)) / 4,
    "array<int>": lambda value: list(range(len(value) % 5)),
    "map<string, int>": lambda value: {value: len(value)},
    "struct<a: int, b: array<string>>": lambda value: (len(value), [value, None]),
}


def of_every_type(records: DataFrame, *, use_arrow: bool) -> DataFrame:
    # Ten times a long value would be more than a record may hold.
    value = F.substring(F.coalesce(F.col("value").cast("string"), F.lit("none")), 1, 100)
    made = [F.udf(function, kind, useArrow=use_arrow)(value) for kind, function in MANY_TYPES.items()]
    return records.select("key", answer(*made))


def _text() -> Column:
    return F.col("value").cast("string")


def _with_text(records: DataFrame) -> DataFrame:
    return records.select(F.col("key").cast("string").alias("key"), _text().alias("text"))


FUNCTIONS: dict[str, Build] = {
    "udf": lambda records: records.select("key", answer(F.udf(plus_one, "long")(_text()))),
    "pickled udf": lambda records: records.select("key", answer(F.udf(plus_one, "long", useArrow=False)(_text()))),
    "every type": lambda records: of_every_type(records, use_arrow=True),
    "every type, pickled": lambda records: of_every_type(records, use_arrow=False),
    "pandas_udf": lambda records: records.select("key", answer(VECTORISED.pandas_udf(lengths, "long")(_text()))),
    "pandas_udf, iterator": lambda records: records.select(
        "key", answer(VECTORISED.pandas_udf(lengths_of_many, "long")(_text()))
    ),
    "arrow_udf": lambda records: records.select("key", answer(VECTORISED.arrow_udf(arrow_lengths, "long")(_text()))),
    "arrow_udf, iterator": lambda records: records.select(
        "key", answer(VECTORISED.arrow_udf(arrow_lengths_of_many, "long")(_text()))
    ),
    "several in one projection": lambda records: records.select(
        "key", answer(F.udf(plus_one, "long")(_text()), F.udf(twice, "long")(F.length("value")), F.length("value"))
    ),
    "one inside the other": lambda records: records.select(
        "key", answer(F.udf(twice, "long")(F.udf(plus_one, "long")(_text())))
    ),
    "between Spark's own": lambda records: records.select(
        "key", answer(F.udf(twice, "long")(F.length("value") + 1) * 3 + F.length("value"))
    ),
    "arrow and pickled": lambda records: records.select(
        "key", answer(F.udf(twice, "long", useArrow=False)(F.udf(plus_one, "long")(_text())))
    ),
    "in a filter": lambda records: records.where(
        F.udf(lambda value: value is not None and len(value) > 1, "boolean")(_text())
    ).select("key", "value"),
    "named arguments": lambda records: records.select(
        "key", answer(VECTORISED.udf(scaled, "long")(factor=F.lit(3), value=_text()))
    ),
    "not deterministic": lambda records: records.select(
        "key", answer(F.udf(plus_one, "long").asNondeterministic()(_text()))
    ),
    "variant": lambda records: records.select(
        "key",
        answer(F.udf(to_json, "string")(F.parse_json(F.to_json(F.struct(F.substring(_text(), 1, 50).alias("t")))))),
    ),
    "mapInPandas": lambda records: _with_text(records).mapInPandas(doubled_frames, "key string, value string"),
    "mapInArrow": lambda records: _with_text(records).mapInArrow(long_batches, "key string, value string"),
}
