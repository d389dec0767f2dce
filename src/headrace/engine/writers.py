# SPDX-License-Identifier: Apache-2.0
"""What a query will be, before it is started."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from headrace.engine.gateway import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql.streaming import DataStreamWriter


class Writer:
    """What a ``DataStreamWriter`` will start.

    Reaches into Spark: the fields ``trigger`` and ``extraOptions`` of the JVM's writer, which has no methods for them.
    """

    def __init__(self, writer: DataStreamWriter) -> None:
        self._writer: Any = writer
        self._trigger = self._field("trigger")

    @property
    def is_real_time(self) -> bool:
        """Whether its trigger was real time when this was made."""
        return kind_of(self._trigger) == "RealTimeTrigger"

    @property
    def has_checkpoint(self) -> bool:
        """Whether what it starts goes on at the same place next time; Spark may choose one by the name of the query."""
        options = self._field("extraOptions")
        by_name = options.contains("queryName") and self.setting("spark.sql.streaming.checkpointLocation") is not None
        return bool(options.contains("checkpointLocation")) or by_name

    def restore_trigger(self) -> None:
        """Gives it back the trigger that it had when this was made."""
        self._writer._jwrite = self._writer._jwrite.trigger(self._trigger)  # noqa: SLF001

    def setting(self, key: str) -> str | None:
        """Returns a setting of its session; ``None`` where only a default of Spark's holds."""
        value: str | None = self._writer._spark.conf.get(key, None)  # noqa: SLF001
        return value

    @contextlib.contextmanager
    def settings(self, settings: Mapping[str, str]) -> Iterator[None]:
        """Changes settings of its session for a while; a query that is started meanwhile keeps them."""
        before = {key: self.setting(key) for key in settings}
        conf = self._writer._spark.conf  # noqa: SLF001
        for key, value in settings.items():
            conf.set(key, value)
        try:
            yield
        finally:
            for key, known in before.items():
                conf.unset(key) if known is None else conf.set(key, known)

    def _field(self, name: str) -> Any:  # noqa: ANN401 py4j has no types
        jvm_writer = self._writer._jwrite  # noqa: SLF001
        field = jvm_writer.getClass().getDeclaredField(name)
        field.setAccessible(True)
        return field.get(jvm_writer)
