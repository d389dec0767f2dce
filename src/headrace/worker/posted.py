# SPDX-License-Identifier: Apache-2.0
"""Calls for state that need no answer are posted: they travel with the next call that does.

Spark's client waits for the JVM after each call. Of the three that a running total needs, to set the key, to read and
to update, only the second has something to say. The JVM answers in order, so the other answers are read later, in front
of the next one that somebody waits for, and at the end of a batch; an error in them is raised then. Behind an error
Spark closes the connection, so whoever finds it closed looks for an answer that says why.

Reaches into PySpark: ``StatefulProcessorApiClient._send_proto_message`` and the methods ``_receive_proto_message...``
are the only ways to the socket for the calls that are posted or waited for; two methods write what follows a call.
"""

from __future__ import annotations

import functools
import struct
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkRuntimeError
from pyspark.sql.streaming.map_state_client import MapStateClient
from pyspark.sql.streaming.stateful_processor_api_client import StatefulProcessorApiClient as Client
from pyspark.sql.streaming.value_state_client import ValueStateClient

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_BYTES = 8000
"""Spark's server takes as much at once. When it closes a connection that holds more, answers on their way are lost, and
so is the reason. Nor can the answers to so little fill the connection: the JVM would wait for us and we for the JVM."""

NOTHING = (0, "", b"")
"""What a call that succeeded without a word is answered."""

POSTED = (
    (Client, ("set_implicit_key", "register_timer", "delete_timer")),
    (ValueStateClient, ("update", "clear")),
    (MapStateClient, ("update_value", "remove_key", "clear")),
)
ANSWERED = (
    "_receive_proto_message",
    "_receive_proto_message_with_long_value",
    "_receive_proto_message_with_string_value",
    "_receive_proto_message_with_list_get",
    "_receive_proto_message_with_map_keys_values",
    "_receive_proto_message_with_map_pairs",
    "_receive_proto_message_with_timers",
)
WRITTEN = ("_send_list_state", "_send_arrow_state")


class Outbox:
    """The calls of this process that have been posted: a worker has one task, and a task one client."""

    def __init__(self) -> None:
        self.is_posting = False
        self.unanswered = 0
        self.bytes = 0
        # The error that has been raised, for whoever goes on after it.
        self.failure: str | None = None
        # Goes in front of the next call, whichever that is.
        self.first: Callable[[], None] | None = None
        # Spark's own way to read an answer without a value.
        self.read = Client._receive_proto_message  # noqa: SLF001 see above


OUTBOX = Outbox()


@functools.cache
def install() -> None:
    """Lets calls be posted, once in this process."""
    for kind, names in POSTED:
        for name in names:
            setattr(kind, name, posting(getattr(kind, name)))
    for name in ANSWERED:
        setattr(Client, name, answered(getattr(Client, name)))
    for name in WRITTEN:
        setattr(Client, name, explained(getattr(Client, name)))
    Client._send_proto_message = send  # type: ignore[method-assign] # noqa: SLF001


def posting(call: Callable[..., None]) -> Callable[..., None]:
    """Makes a call that is not waited for."""

    @functools.wraps(call)
    def post(*arguments: Any) -> None:  # noqa: ANN401 as the call's
        was_posting, OUTBOX.is_posting = OUTBOX.is_posting, True
        try:
            call(*arguments)
        finally:
            OUTBOX.is_posting = was_posting

    return post


def explained(write: Callable[..., None]) -> Callable[..., None]:
    """Makes a write to a closed connection raise the error that Spark closed it for."""

    @functools.wraps(write)
    def call(client: Client, *arguments: Any) -> None:  # noqa: ANN401 as the write's
        try:
            write(client, *arguments)
        except OSError:
            settle(client)
            raise

    return call


@explained
def send(client: Client, message: bytes) -> None:
    """Writes a message; one that is posted stays in the buffer until somebody waits."""
    if OUTBOX.first is not None:
        first, OUTBOX.first = OUTBOX.first, None
        first()
    # The version of the protocol, the length.
    framed = struct.pack(">ii", 0, len(message)) + message
    if OUTBOX.bytes + len(framed) > MOST_BYTES:
        finish(client)
    client.sockfile.write(framed)
    if OUTBOX.is_posting:
        OUTBOX.unanswered += 1
        OUTBOX.bytes += len(framed)
    else:
        client.sockfile.flush()


def answered(receive: Callable[[Client], Any]) -> Callable[[Client], Any]:
    """Reads the answers to what was posted in front of the one that is waited for."""

    def wait(client: Client) -> Any:  # noqa: ANN401 as Spark's
        if OUTBOX.is_posting:
            return NOTHING
        settle(client)
        return receive(client)

    return wait


def settle(client: Client) -> None:
    """Reads the answers to what was posted, and raises the first error among them."""
    while OUTBOX.unanswered:
        OUTBOX.unanswered -= 1
        try:
            status, message, _ = OUTBOX.read(client)
        except (EOFError, OSError):
            if OUTBOX.failure is None:
                raise
            raise PySparkRuntimeError(OUTBOX.failure) from None
        if status:
            # Raised at once: Spark may have closed the connection, and then there is no further answer.
            OUTBOX.failure = f"Error in a call for state: {message}"
            raise PySparkRuntimeError(OUTBOX.failure)
    OUTBOX.bytes = 0


@explained
def finish(client: Client) -> None:
    """Sends what was posted and waits for the answers, so that an error shows before its rows are answered."""
    if OUTBOX.unanswered:
        client.sockfile.flush()
        settle(client)


def forget() -> None:
    """Begins a task: what an earlier one posted is gone with its connection."""
    OUTBOX.is_posting = False
    OUTBOX.unanswered = 0
    OUTBOX.bytes = 0
    OUTBOX.failure = None
    OUTBOX.first = None
