# SPDX-License-Identifier: Apache-2.0
"""The workloads in Flink SQL; runs in the virtual environment of PyFlink."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyflink.common import Types
from pyflink.java_gateway import get_gateway
from pyflink.table import Table
from workloads.catalog import SMALLEST_CENTS, WINDOW_MS
from workloads.records import MERCHANTS, category

if TYPE_CHECKING:
    import argparse

    from pyflink.table import StreamTableEnvironment, TableResult

TABLE_PROPERTY = "table.properties."
"""Settings that begin with it go to the Kafka client of the tables, the others to the job."""


def create_source(tables: StreamTableEnvironment, arguments: argparse.Namespace) -> None:
    """Creates the table of payments over the source topic."""
    options = {
        "connector": "kafka",
        "topic": arguments.source,
        "properties.bootstrap.servers": arguments.bootstrap,
        "properties.group.id": arguments.sink,
        # Only where no checkpoint says otherwise.
        "scan.startup.mode": "earliest-offset",
        "format": "json",
    }
    tables.execute_sql(
        "CREATE TABLE payments (id BIGINT, card BIGINT, merchant BIGINT, cents BIGINT, ts BIGINT, "
        f"proc AS PROCTIME()) WITH ({_spell(options)})"
    )


def insert_rows(
    tables: StreamTableEnvironment, arguments: argparse.Namespace, query: str, answer: dict[str, str] | None = None
) -> TableResult:
    """Runs a query whose rows are final: columns card (the key of the topic, no part of the value), id and one more.

    Args:
        tables: Where the query runs.
        arguments: The program's.
        query: Its first column is the card.
        answer: Columns of the query beside the card, with their types; the id alone if not given.
    """
    columns = "".join(f", {name} {kind}" for name, kind in (answer or {"id": "BIGINT"}).items())
    options = _sink_options(arguments) | {
        "connector": "kafka",
        "key.fields": "card",
        "value.fields-include": "EXCEPT_KEY",
    }
    if arguments.workload == "exactly-once":
        options |= {
            "sink.delivery-guarantee": "exactly-once",
            "sink.transactional-id-prefix": arguments.sink,
            # Flink asks for an hour; a broker allows 15 minutes unless told otherwise.
            "properties.transaction.timeout.ms": "900000",
        }
    tables.execute_sql(f"CREATE TABLE answers (card BIGINT{columns}) WITH ({_spell(options)})")
    return tables.execute_sql(f"INSERT INTO answers {query}")


def upsert_rows(tables: StreamTableEnvironment, arguments: argparse.Namespace, query: str, key: str) -> TableResult:
    """Runs a query whose rows are updated; each update is one record with the new row.

    Args:
        tables: Where the query runs.
        arguments: The program's.
        query: Columns card, start if the key has it, n and last.
        key: The columns of which each combination has one row.
    """
    start = "`start` BIGINT, " if "start" in key else ""
    columns = f"card BIGINT, {start}n BIGINT, `last` BIGINT, PRIMARY KEY ({key}) NOT ENFORCED"
    options = _sink_options(arguments) | {"connector": "upsert-kafka"}
    tables.execute_sql(f"CREATE TABLE answers ({columns}) WITH ({_spell(options)})")
    return tables.execute_sql(f"INSERT INTO answers {query}")


def stateless(tables: StreamTableEnvironment, arguments: argparse.Namespace) -> TableResult:
    """Drops small payments and computes a fee."""
    query = f"SELECT card, id, cents * 3 FROM payments WHERE cents > {SMALLEST_CENTS}"  # noqa: S608  # A number of ours.
    return insert_rows(tables, arguments, query, {"id": "BIGINT", "fee": "BIGINT"})


def join(tables: StreamTableEnvironment, arguments: argparse.Namespace) -> TableResult:
    """Joins with a table read from a file.

    Flink SQL sends a table to every task in batch jobs only, and none of its own connectors can be looked up from a
    join. So both sides go to the task of their merchant, and the table lies in the state there. The payments need not
    stay: what is left of them after a minute is dropped.
    """
    file = Path(arguments.folder, "merchants.csv").absolute()
    file.write_text("".join(f"{merchant},{category(merchant)}\n" for merchant in range(MERCHANTS)), encoding="utf-8")
    options = {"connector": "filesystem", "path": file.as_uri(), "format": "csv"}
    tables.execute_sql(
        "CREATE TABLE merchants (merchant BIGINT, category BIGINT, PRIMARY KEY (merchant) NOT ENFORCED) "
        f"WITH ({_spell(options)})"
    )
    query = (
        "SELECT /*+ STATE_TTL('p'='1min', 'm'='0s') */ p.card, p.id, m.category "
        "FROM payments AS p JOIN merchants AS m ON p.merchant = m.merchant"
    )
    return insert_rows(tables, arguments, query, {"id": "BIGINT", "category": "BIGINT"})


def count(tables: StreamTableEnvironment, arguments: argparse.Namespace) -> TableResult:
    """Counts by card."""
    return upsert_rows(tables, arguments, "SELECT card, COUNT(*), MAX(id) FROM payments GROUP BY card", "card")


def window(tables: StreamTableEnvironment, arguments: argparse.Namespace) -> TableResult:
    """Counts by card and window; not with Flink's windows, which answer only when they close."""
    start = f"ts - MOD(ts, {WINDOW_MS})"
    query = f"SELECT card, {start}, COUNT(*), MAX(id) FROM payments GROUP BY card, {start}"  # noqa: S608  # As above.
    return upsert_rows(tables, arguments, query, "card, `start`")


def dedup(tables: StreamTableEnvironment, arguments: argparse.Namespace) -> TableResult:
    """Keeps the first record of each id, in the form that Flink's planner knows as deduplication."""
    query = (
        "SELECT card, id FROM (SELECT card, id, ROW_NUMBER() OVER (PARTITION BY id ORDER BY proc ASC) AS place "
        "FROM payments) WHERE place = 1"
    )
    return insert_rows(tables, arguments, query)


def shuffles(tables: StreamTableEnvironment, arguments: argparse.Namespace) -> TableResult:
    """Sends records by merchant, then counts by card.

    SQL has no word for sending alone; the Java API has keyBy. PyFlink's own would bring Python into the job, so it is
    called with the one key selector in Flink's jars that fits: it takes a row's first column.
    """
    rows = tables.to_data_stream(tables.sql_query("SELECT merchant, card, id FROM payments"))
    selector = get_gateway().jvm.org.apache.flink.streaming.api.functions.python.KeyByKeySelector()
    keyed = rows._j_data_stream.keyBy(selector, Types.ROW([Types.LONG()]).get_java_type_info())  # noqa: SLF001
    by_merchant = Table(tables._j_tenv.fromDataStream(keyed), tables)  # noqa: SLF001
    tables.create_temporary_view("by_merchant", by_merchant)
    return upsert_rows(tables, arguments, "SELECT card, COUNT(*), MAX(id) FROM by_merchant GROUP BY card", "card")


QUERIES = {
    "stateless": stateless,
    "join": join,
    "count": count,
    "window": window,
    "dedup": dedup,
    "shuffles": shuffles,
    "exactly-once": stateless,
}


def _sink_options(arguments: argparse.Namespace) -> dict[str, str]:
    pairs = (pair.split("=", 1) for pair in arguments.set)
    own = {key.removeprefix("table."): value for key, value in pairs if key.startswith(TABLE_PROPERTY)}
    return own | {
        "topic": arguments.sink,
        "properties.bootstrap.servers": arguments.bootstrap,
        "value.format": "json",
        # One column as CSV is its number as text, the form of the keys in the source topic.
        "key.format": "csv",
    }


def _spell(options: dict[str, str]) -> str:
    return ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
