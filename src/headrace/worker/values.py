# SPDX-License-Identifier: Apache-2.0
"""Values of state, many at a time: read from the JVM once in an epoch, written back when many have changed.

Spark's client asks the JVM for each value, and waits. Here a key's first row in an epoch brings its values along; what
is missing of a batch comes in one message; what has changed goes in another, once it is much, and nobody waits for the
answer to that. State is durable when its epoch is committed, and no epoch is committed before everything is written.

Only values go this way that come back from the JVM as they went: plain fields whose Python types are those of the
schema. Others, and state with a time to live, which ends by the JVM's clock, stay with Spark's own calls.

Reaches into PySpark: ``ValueStateClient`` has one method for each call, ``StatefulProcessorApiClient.set_implicit_key``
says whose values they are, and ``get_value_state`` which of them have a time to live.
"""

from __future__ import annotations

import functools
import pickle
import socket
import struct
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.errors import PySparkRuntimeError
from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorApiClient as Client
from pyspark.sql.streaming.value_state_client import ValueStateClient
from pyspark.sql.types import BooleanType, DoubleType, IntegerType, LongType, StringType, StructType

from . import posted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MOST_KNOWN = 100_000
MOST_CHANGED = 200
"""More would make whoever asks next, and the end of the epoch, wait until the JVM has written them; with fewer, a
message for each record costs more than the record."""
PLAIN: dict[type, type] = {LongType: int, IntegerType: int, DoubleType: float, StringType: str, BooleanType: bool}
BITS = {LongType: 63, IntegerType: 31}

Key: TypeAlias = tuple[Any, ...]
Value: TypeAlias = tuple[Any, ...] | None


def is_plain(schema: StructType, value: tuple[Any, ...]) -> bool:
    """Says whether a value comes back from the JVM as it went."""
    fields = schema.fields
    return len(fields) == len(value) and all(
        part is None or (PLAIN.get(kind) is type(part) and (kind not in BITS or is_within(part, BITS[kind])))
        for kind, part in zip((type(field.dataType) for field in fields), value, strict=True)
    )


def is_within(number: Any, bits: int) -> bool:  # noqa: ANN401 an int, as its caller knows
    """Says whether a number fits into so many bits and a sign."""
    return bool(-(1 << bits) <= number < 1 << bits)


def has_plain_types(schema: StructType) -> bool:
    """Says whether values of a schema can be plain."""
    return all(type(field.dataType) in PLAIN for field in schema.fields)


class Desk:
    """The JVM's end for values: takes those that changed and gives those that are asked for, in one message.

    Args:
        path: Its socket.
    """

    def __init__(self, path: str) -> None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(path)
        self._stream = connection.makefile("rwb")
        self._has_posted = False

    def post(self, message: tuple[Any, ...]) -> None:
        """Sends a message whose answer can wait."""
        self.settle()
        body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self._stream.write(struct.pack(">i", len(body)) + body)
        self._stream.flush()
        self._has_posted = True

    def ask(self, message: tuple[Any, ...]) -> list[Value]:
        """Sends a message and waits for what was asked for."""
        self.post(message)
        return self.settle()

    def settle(self) -> list[Value]:
        """Waits for the answer to the last message; raises what went wrong there."""
        if not self._has_posted:
            return []
        self._has_posted = False
        (length,) = struct.unpack(">i", self._stream.read(4))
        answer = pickle.loads(self._stream.read(length))  # noqa: S301 from our own JVM
        if isinstance(answer, str):
            message = f"Error in a call for state: {answer}"
            raise PySparkRuntimeError(message)
        return list(answer)


class Values:
    """The values of one task, as far as they are known here."""

    def __init__(self) -> None:
        self.begin(None, StructType())

    def begin(self, path: str | None, key_schema: StructType) -> None:
        """Begins a task: another may have changed the state since.

        Args:
            path: The socket of the JVM's end; without one, all calls are Spark's.
            key_schema: Of the keys.
        """
        # Python takes 0.0 and -0.0 for the same key, and the JVM does not.
        has_fit_keys = has_plain_types(key_schema) and DoubleType() not in [field.dataType for field in key_schema]
        self._path = path if has_fit_keys else None
        self._desk: Desk | None = None
        self._key_schema = key_schema
        self._key: Key | None = None
        self._known: dict[tuple[str, Key], Value] = {}
        self._changed: dict[tuple[str, Key], Value] = {}
        # A value that a row brings is older than any change made here; so it is of no use once changes are forgotten.
        self._learns = True
        # The states that go this way, and what the JVM has not heard yet of new ones and of those that no longer do.
        self._states: set[str] = set()
        self._new: list[tuple[str, str | None]] = []

    def add(self, name: str, schema: StructType) -> None:
        """Takes charge of a state, if it can."""
        if self._path is not None and has_plain_types(schema):
            self._states.add(name)
            self._new.append((name, schema.json()))

    def announce(self) -> None:
        """Tells the JVM which states there are, so that the very first rows bring their values along."""
        if self._new:
            self._connected().post(self._message([]))

    def of_key(self, key: Key) -> None:
        """Says whose values come next."""
        self._key = tuple(key) if self._path is not None and is_plain(self._key_schema, key) else None

    def serves(self, name: str) -> bool:
        """Says whether the values of a state, for the current key, go this way."""
        return self._key is not None and name in self._states

    def get(self, name: str) -> Value:
        """Returns a value of the current key."""
        assert self._key is not None
        place = name, self._key
        if place not in self._known:
            self._fetch([place])
        return self._known[place]

    def put(self, name: str, value: Value) -> None:
        """Changes a value of the current key, or takes it away."""
        assert self._key is not None
        self._known[name, self._key] = self._changed[name, self._key] = value

    def learn(self, keys: Iterable[Key], brought: Iterable[bytes | None]) -> None:
        """Takes the values that rows bring along, of those keys of which nothing is known."""
        for key, pickled in zip(keys, brought, strict=True):
            if pickled is not None and self._learns and len(self._known) < MOST_KNOWN:
                for name, value in pickle.loads(pickled):  # noqa: S301 from our own JVM
                    self._known.setdefault((name, key), value)

    def fetch(self, keys: Iterable[Key]) -> None:
        """Gets what is not known of the values of keys, in one message."""
        plain = {key for key in keys if is_plain(self._key_schema, key)} if self._states else set()
        places = [(name, key) for name in self._states for key in plain if (name, key) not in self._known]
        if places:
            self._fetch(places)

    def _fetch(self, places: list[tuple[str, Key]]) -> None:
        if len(self._known) + len(places) > MOST_KNOWN:
            # What has changed travels with the question, in front of it.
            self._forget_known()
        self._known.update(zip(places, self._ask(places), strict=True))

    def flush_if_many(self) -> None:
        """Sends what has changed, if that is worth a message."""
        if len(self._changed) >= MOST_CHANGED:
            self._flush()

    def _flush(self) -> None:
        if self._changed:
            self._connected().post(self._message([]))

    def finish(self) -> None:
        """Sends what has changed, and waits until the JVM has it."""
        self._flush()
        if self._desk is not None:
            self._desk.settle()

    def forget(self, state: str | None = None) -> None:
        """Hands everything to the JVM, and a state back to Spark's calls."""
        self.finish()
        if state in self._states:
            self._states.remove(state)
            self._new.append((state, None))
            self._ask([])
        self._forget_known()

    def _forget_known(self) -> None:
        self._learns = self._learns and not self._known
        self._known.clear()

    def _ask(self, places: list[tuple[str, Key]]) -> list[Value]:
        return self._connected().ask(self._message(places))

    def _message(self, places: list[tuple[str, Key]]) -> tuple[Any, ...]:
        changes = [(name, key, value) for (name, key), value in self._changed.items()]
        new, self._new = self._new, []
        self._changed.clear()
        return new, changes, places

    def _connected(self) -> Desk:
        if self._desk is None:
            assert self._path is not None
            self._desk = Desk(self._path)
        return self._desk


VALUES = Values()


@functools.cache
def install() -> None:
    """Puts what we keep between a processor and Spark's client, once in this process."""
    Client.set_implicit_key = _noting_key(Client.set_implicit_key)  # type: ignore[method-assign]
    Client.get_value_state = _noting_state(Client.get_value_state)  # type: ignore[method-assign]
    Client.delete_if_exists = _forgetting(Client.delete_if_exists)  # type: ignore[method-assign]
    ValueStateClient.get = _get(ValueStateClient.get)  # type: ignore[method-assign]
    ValueStateClient.exists = _exists(ValueStateClient.exists)  # type: ignore[method-assign]
    ValueStateClient.update = _update(ValueStateClient.update)  # type: ignore[method-assign]
    ValueStateClient.clear = _clear(ValueStateClient.clear)  # type: ignore[method-assign]


def _noting_key(spark: Callable[..., None]) -> Callable[..., None]:
    def set_implicit_key(client: Client, key: Key) -> None:
        VALUES.of_key(key)
        # The JVM is told when a call needs it, which may be never.
        posted.OUTBOX.first = functools.partial(spark, client, key)

    return set_implicit_key


def _noting_state(spark: Callable[..., None]) -> Callable[..., None]:
    def get_value_state(client: Client, name: str, schema: StructType | str, ttl_ms: int | None) -> None:
        parsed = client._parse_string_schema(schema) if isinstance(schema, str) else schema  # noqa: SLF001 as Spark
        spark(client, name, parsed, ttl_ms)
        if ttl_ms is None:
            VALUES.add(name, parsed)

    return get_value_state


def _forgetting(spark: Callable[..., None]) -> Callable[..., None]:
    def delete_if_exists(client: Client, name: str) -> None:
        VALUES.forget(name)
        spark(client, name)

    return delete_if_exists


def _get(spark: Callable[..., Value]) -> Callable[..., Value]:
    def get(client: ValueStateClient, name: str) -> Value:
        return VALUES.get(name) if VALUES.serves(name) else spark(client, name)

    return get


def _exists(spark: Callable[..., bool]) -> Callable[..., bool]:
    def exists(client: ValueStateClient, name: str) -> bool:
        return VALUES.get(name) is not None if VALUES.serves(name) else bool(spark(client, name))

    return exists


def _update(spark: Callable[..., None]) -> Callable[..., None]:
    def update(client: ValueStateClient, name: str, value: Any) -> None:  # noqa: ANN401 a row of any shape
        if not VALUES.serves(name):
            spark(client, name, value)
        elif is_plain(client.schema, value):
            VALUES.put(name, tuple(value))
        else:
            # What the JVM makes of it is read from there.
            VALUES.forget()
            spark(client, name, value)
            posted.finish(client._stateful_processor_api_client)  # noqa: SLF001 the two ways must not cross

    return update


def _clear(spark: Callable[..., None]) -> Callable[..., None]:
    def clear(client: ValueStateClient, name: str) -> None:
        if VALUES.serves(name):
            VALUES.put(name, None)
        else:
            spark(client, name)

    return clear
