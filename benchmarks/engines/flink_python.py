# SPDX-License-Identifier: Apache-2.0
"""The workloads that call Python from Flink; runs in the virtual environment of PyFlink."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engines.flink_sql import insert_rows
from pyflink.common import Row, Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.table import DataTypes
from pyflink.table.udf import udf as register
from workloads.catalog import score

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from pyflink.table import StreamTableEnvironment, TableResult

_SCORES = "SELECT card, id, score(cents) FROM payments"
_SCORE_COLUMNS = {"id": "BIGINT", "score": "BIGINT"}


def udf(tables: StreamTableEnvironment, arguments: argparse.Namespace) -> TableResult:
    """Calls a function on one number."""
    tables.create_temporary_function("score", register(score, result_type=DataTypes.BIGINT()))
    return insert_rows(tables, arguments, _SCORES, _SCORE_COLUMNS)


def pandas(tables: StreamTableEnvironment, arguments: argparse.Namespace) -> TableResult:
    """Calls the same function on a pandas series: its arithmetic works on both."""
    tables.create_temporary_function("score", register(score, result_type=DataTypes.BIGINT(), func_type="pandas"))
    return insert_rows(tables, arguments, _SCORES, _SCORE_COLUMNS)


class Totals(KeyedProcessFunction):  # type: ignore[misc]  # PyFlink is not installed where types are checked.
    """Keeps count and sum by card."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Looks the state up."""
        kind = Types.TUPLE([Types.LONG(), Types.LONG()])
        self._totals = runtime_context.get_state(ValueStateDescriptor("totals", kind))

    def process_element(self, value: Row, _ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        """Adds one payment."""
        card, number, cents = value
        n, total = self._totals.value() or (0, 0)
        n, total = n + 1, total + cents
        self._totals.update((n, total))
        yield Row(card, number, n, total)


def state(tables: StreamTableEnvironment, arguments: argparse.Namespace) -> TableResult:
    """Runs a keyed process function between two tables: reading and writing JSON stays in the JVM."""
    payments = tables.to_data_stream(tables.sql_query("SELECT card, id, cents FROM payments"))
    longs = Types.ROW_NAMED(["card", "id", "n", "total"], [Types.LONG()] * 4)
    totals = payments.key_by(lambda value: value[0], key_type=Types.LONG()).process(Totals(), output_type=longs)
    tables.create_temporary_view("totals", totals)
    columns = {"id": "BIGINT", "n": "BIGINT", "total": "BIGINT"}
    return insert_rows(tables, arguments, "SELECT card, id, n, total FROM totals", columns)


QUERIES = {"udf": udf, "pandas": pandas, "state": state}
