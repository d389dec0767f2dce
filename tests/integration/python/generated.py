# SPDX-License-Identifier: Apache-2.0
"""Columns of any type with functions on them, as Hypothesis makes them up."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DrawFn, SearchStrategy
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True, slots=True)
class Type:
    """A type of Spark's, and its values as JSON has them."""

    name: str
    values: SearchStrategy[Any]
    is_plain: bool = True


# No surrogates: half a character has no bytes.
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_YEARS = st.tuples(st.integers(1970, 2037), st.integers(1, 12), st.integers(1, 28))
_TIMES = st.tuples(st.integers(0, 23), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999_999))
_DATES = _YEARS.map(lambda day: "{:04}-{:02}-{:02}".format(*day))
_CLOCKS = _TIMES.map(lambda time: "{:02}:{:02}:{:02}.{:06}".format(*time))
_PLAIN = (
    Type("boolean", st.booleans()),
    Type("int", st.integers(-(2**31), 2**31 - 1)),
    Type("long", st.integers(-(2**63), 2**63 - 1)),
    Type("double", st.floats(allow_nan=False, allow_infinity=False)),
    Type("string", _TEXT),
    Type("binary", st.binary(max_size=40).map(lambda data: base64.b64encode(data).decode())),
    Type("decimal(12,3)", st.integers(-(10**12) + 1, 10**12 - 1).map(lambda number: f"{number / 1000:.3f}")),
    Type("date", _DATES),
    Type("timestamp", st.builds("{}T{}Z".format, _DATES, _CLOCKS)),
    Type("timestamp_ntz", st.builds("{}T{}".format, _DATES, _CLOCKS)),
)


def _nested(inner: Type) -> tuple[Type, ...]:
    perhaps = st.none() | inner.values
    return (
        Type(f"array<{inner.name}>", st.lists(perhaps, max_size=4), is_plain=False),
        Type(f"map<string,{inner.name}>", st.dictionaries(_TEXT, perhaps, max_size=3), is_plain=False),
        Type(f"struct<a:{inner.name},b:int>", st.fixed_dictionaries({"a": perhaps, "b": st.just(1)}), is_plain=False),
    )


TYPES = (*_PLAIN, *(nested for inner in _PLAIN for nested in _nested(inner)))


def _same(value: Any) -> Any:  # noqa: ANN401 any value there is
    return value


def _arrow(column: Column, type_: Type) -> Column:
    return F.udf(_same, type_.name, useArrow=True)(column)


def _pickled(column: Column, type_: Type) -> Column:
    return F.udf(_same, type_.name, useArrow=False)(column)


def _pandas(column: Column, type_: Type) -> Column:
    # What is nested comes to pandas in forms that it does not take back, in either mode.
    if not type_.is_plain:
        return _arrow(column, type_)
    return F.pandas_udf(_same, type_.name, F.PandasUDFType.SCALAR)(column)


def _chained(column: Column, type_: Type) -> Column:
    return _arrow(_arrow(column, type_), type_)


CALLS: tuple[Callable[[Column, Type], Column], ...] = (_arrow, _pickled, _pandas, _chained)


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, what is called on each, and rows as JSON."""

    types: tuple[Type, ...]
    calls: tuple[Callable[[Column, Type], Column], ...]
    rows: tuple[str, ...]

    def __repr__(self) -> str:
        """Says what a failed test must tell."""
        calls = ", ".join(f"{call.__name__}({type_.name})" for call, type_ in zip(self.calls, self.types, strict=True))
        return f"Table({calls}; {self.rows})"

    def answers(self, records: DataFrame) -> DataFrame:
        """Returns what the functions make of records that hold the rows."""
        schema = ", ".join(f"c{number} {type_.name}" for number, type_ in enumerate(self.types))
        rows = records.select(F.from_json(F.col("value").cast("string"), schema).alias("row")).select("row.*")
        columns = [
            call(F.col(f"c{number}"), type_).alias(f"c{number}")
            for number, (call, type_) in enumerate(zip(self.calls, self.types, strict=True))
        ]
        return rows.select(*columns).select(F.to_json(F.struct("*")).alias("value"))


@st.composite
def tables(draw: DrawFn) -> Table:
    """Makes up a table."""
    types = draw(st.lists(st.sampled_from(TYPES), min_size=3, max_size=6))
    calls = [draw(st.sampled_from(CALLS)) for _ in types]
    row = st.fixed_dictionaries({f"c{number}": st.none() | type_.values for number, type_ in enumerate(types)})
    rows = draw(st.lists(row.map(json.dumps), min_size=1, max_size=12))
    return Table(tuple(types), tuple(calls), tuple(rows))
