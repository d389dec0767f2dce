# SPDX-License-Identifier: Apache-2.0
"""Says what would become of a query in real-time mode, before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.advise.query import CheckedQuery, parse
from headrace.engine import gateway

if TYPE_CHECKING:
    from pyspark.sql.streaming import DataStreamWriter


def check(writer: DataStreamWriter) -> CheckedQuery:
    """Plans a query for real-time mode, whatever its trigger, and judges it; starts nothing.

    The query is planned by Spark and judged by the same table as a query that starts. No record is read or written, and
    no checkpoint is made. The brokers are asked for their partitions; when they do not answer, the verdict still comes,
    without the number of slots.

    Args:
        writer: A query, as complete as it would be before its `start()`.

    Raises:
        JvmAlreadyRunningError: The session is one without the engine.

    Example:
        >>> headrace.check(orders.writeStream.format("memory").queryName("copy")).conditions  # doctest: +SKIP
        ('SINK_MEMORY',)
    """
    return parse(gateway.rehearse(writer))
