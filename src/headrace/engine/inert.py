# SPDX-License-Identifier: Apache-2.0
"""Lets an application run while none of its queries starts."""

from __future__ import annotations

import functools
import inspect
import uuid
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming import DataStreamWriter, StreamingQuery
from pyspark.sql.streaming.query import StreamingQueryManager

from headrace.engine import gateway

if TYPE_CHECKING:
    from collections.abc import Callable


_SETTERS = ("format", "outputMode", "partitionBy", "queryName")
"""Arguments of a start that are methods of the writer, too."""


def disarm(record: Callable[[Any], None]) -> None:
    """Changes PySpark in this process: whatever starts a query rehearses it instead, and nobody waits for one.

    Args:
        record: Is given what each rehearsal found.
    """
    DataStreamWriter.start = _rehearsing(DataStreamWriter.start, record)  # type: ignore[method-assign]
    DataStreamWriter.toTable = _rehearsing(DataStreamWriter.toTable, record)  # type: ignore[method-assign]
    # Spark's would wait for the end of a query that never began.
    StreamingQueryManager.awaitAnyTermination = _return_at_once  # type: ignore[assignment, method-assign]


def _rehearsing(start: Any, record: Callable[[Any], None]) -> Any:  # noqa: ANN401 its signature is PySpark's business
    signature = inspect.signature(start)

    @functools.wraps(start)
    def rehearse(*args: object, **kwargs: object) -> StreamingQuery:
        call = signature.bind(*args, **kwargs).arguments
        writer: DataStreamWriter = call["self"]
        writer.options(**call.get("options", {}))
        if call.get("path") is not None:
            writer.option("path", call["path"])
        for name in _SETTERS:
            if call.get(name) is not None:
                getattr(writer, name)(call[name])
        report = gateway.rehearse(writer, call.get("tableName"))
        record(report)
        return InertQuery(report.get("name"))

    return rehearse


def _return_at_once(_: object, timeout: int | None = None) -> bool | None:
    return None if timeout is None else True


class InertQuery(StreamingQuery):
    """A query that never ran: it is over, without an error, and whoever waits for it goes on at once."""

    def __init__(self, name: str | None = None) -> None:
        """Has no query of the JVM behind it."""
        self._name = name
        self._id, self._run_id = str(uuid.uuid4()), str(uuid.uuid4())

    @property
    def id(self) -> str:
        """An identity of its own."""
        return self._id

    @property
    def runId(self) -> str:  # noqa: N802 PySpark's name
        """That of a run that never was."""
        return self._run_id

    @property
    def name(self) -> str | None:  # type: ignore[override] # PySpark's type forgets queries without a name
        """The name given to `start()`."""
        return self._name

    @property
    def isActive(self) -> bool:  # noqa: N802 PySpark's name
        """Never."""
        return False

    @property
    def status(self) -> dict[str, Any]:
        """That of a query that has ended."""
        return {"message": "Stopped", "isDataAvailable": False, "isTriggerActive": False}

    @property
    def recentProgress(self) -> list[Any]:  # noqa: N802 PySpark's name
        """None was made."""
        return []

    @property
    def lastProgress(self) -> None:  # noqa: N802 PySpark's name
        """None was made."""
        return

    def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802 PySpark's name
        """Returns at once."""
        return _return_at_once(self, timeout)

    def processAllAvailable(self) -> None:  # noqa: N802 PySpark's name
        """Returns at once."""

    def stop(self) -> None:
        """Has nothing to stop."""

    def explain(self, extended: bool = False) -> None:  # noqa: FBT001, FBT002 PySpark's signature
        """Has no plan to show."""

    def exception(self) -> None:
        """Nothing failed."""
        return
