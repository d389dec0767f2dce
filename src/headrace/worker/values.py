# SPDX-License-Identifier: Apache-2.0
"""Values of state are read from the JVM once in an epoch, and then from here.

Each update still goes to the JVM at once, in order, so what is committed is the JVM's. Only values are kept that come
back from there as they went: plain fields whose Python types are those of the schema. State with a time to live is not
kept, because it ends by the JVM's clock.

Reaches into PySpark: ``ValueStateClient`` has one method for each call, ``StatefulProcessorApiClient.set_implicit_key``
says whose values they are, and ``get_value_state`` which of them have a time to live.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorApiClient as Client
from pyspark.sql.streaming.value_state_client import ValueStateClient
from pyspark.sql.types import BooleanType, DoubleType, IntegerType, LongType, StringType, StructType

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 100_000
PLAIN: dict[type, type] = {LongType: int, IntegerType: int, DoubleType: float, StringType: str, BooleanType: bool}

Value: TypeAlias = tuple[Any, ...] | None


UNKNOWN = object()


class Kept:
    """What this process knows of the state of its task."""

    def __init__(self) -> None:
        self._key: Any = None
        self._values: dict[tuple[str, Any], Value] = {}
        self._expiring: set[str] = set()

    def of_key(self, key: Any) -> None:  # noqa: ANN401 of any type
        """Says whose values come next. Of a key that cannot be looked up, nothing is kept."""
        try:
            hash(key)
        except TypeError:
            self._key = None
        else:
            self._key = key

    def expires(self, name: str) -> None:
        """Says that values of this name have a time to live."""
        self._expiring.add(name)

    def find(self, name: str) -> Any:  # noqa: ANN401 a value, or UNKNOWN
        """Returns a value of the key, ``None`` where it has none, or ``UNKNOWN``."""
        return UNKNOWN if self._key is None else self._values.get((name, self._key), UNKNOWN)

    def put(self, name: str, value: Value) -> None:
        """Keeps a value if it may be kept; when there are too many, begins anew."""
        if self._key is None or name in self._expiring:
            return
        if len(self._values) >= MOST:
            self._values.clear()
        self._values[name, self._key] = value

    def drop(self, name: str) -> None:
        """Forgets a value of the key."""
        self._values.pop((name, self._key), None)

    def drop_all(self) -> None:
        """Forgets all values."""
        self._values.clear()

    def forget(self) -> None:
        """Begins a task: another may have changed the state since."""
        self._key = None
        self._values.clear()
        self._expiring.clear()


KEPT = Kept()


@functools.cache
def install() -> None:
    """Puts what we keep between a processor and Spark's client, once in this process."""
    Client.set_implicit_key = _noting_key(Client.set_implicit_key)  # type: ignore[method-assign]
    Client.get_value_state = _noting_expiry(Client.get_value_state)  # type: ignore[method-assign]
    Client.delete_if_exists = _dropping(Client.delete_if_exists)  # type: ignore[method-assign]
    ValueStateClient.get = _kept(ValueStateClient.get)  # type: ignore[method-assign]
    ValueStateClient.exists = _exists(ValueStateClient.exists)  # type: ignore[method-assign]
    ValueStateClient.update = _updating(ValueStateClient.update)  # type: ignore[method-assign]
    ValueStateClient.clear = _clearing(ValueStateClient.clear)  # type: ignore[method-assign]


def is_plain(schema: StructType, value: tuple[Any, ...]) -> bool:
    """Says whether a value comes back from the JVM as it went."""
    fields = schema.fields
    return len(fields) == len(value) and all(
        part is None or PLAIN.get(type(field.dataType)) is type(part) for field, part in zip(fields, value, strict=True)
    )


def _noting_key(spark: Callable[..., None]) -> Callable[..., None]:
    def set_implicit_key(client: Client, key: Any) -> None:  # noqa: ANN401 of any type
        spark(client, key)
        KEPT.of_key(key)

    return set_implicit_key


def _noting_expiry(spark: Callable[..., None]) -> Callable[..., None]:
    def get_value_state(client: Client, name: str, schema: Any, ttl_ms: int | None) -> None:  # noqa: ANN401
        spark(client, name, schema, ttl_ms)
        if ttl_ms is not None:
            KEPT.expires(name)

    return get_value_state


def _dropping(spark: Callable[..., None]) -> Callable[..., None]:
    def delete_if_exists(client: Client, name: str) -> None:
        spark(client, name)
        KEPT.drop_all()

    return delete_if_exists


def _kept(spark: Callable[..., Value]) -> Callable[..., Value]:
    def get(client: ValueStateClient, name: str) -> Value:
        known: Value = KEPT.find(name)
        if known is not UNKNOWN:
            return known
        value = spark(client, name)
        if value is None or is_plain(client.schema, value):
            KEPT.put(name, value)
        return value

    return get


def _exists(spark: Callable[..., bool]) -> Callable[..., bool]:
    def exists(client: ValueStateClient, name: str) -> bool:
        known = KEPT.find(name)
        return bool(spark(client, name)) if known is UNKNOWN else known is not None

    return exists


def _updating(spark: Callable[..., None]) -> Callable[..., None]:
    def update(client: ValueStateClient, name: str, value: Any) -> None:  # noqa: ANN401 a row of any shape
        KEPT.drop(name)
        spark(client, name, value)
        if is_plain(client.schema, value):
            KEPT.put(name, tuple(value))

    return update


def _clearing(spark: Callable[..., None]) -> Callable[..., None]:
    def clear(client: ValueStateClient, name: str) -> None:
        KEPT.drop(name)
        spark(client, name)
        KEPT.put(name, None)

    return clear
