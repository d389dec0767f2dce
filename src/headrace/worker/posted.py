# SPDX-License-Identifier: Apache-2.0
"""Calls for state that need no answer are posted: they travel with the next call that does.

Spark's client waits for the JVM after each call. Of the three that a running total needs, to set the key, to read and
to update, only the second has something to say. The JVM answers in order, so the other answers are read later, in front
of the next one that somebody waits for, and at the end of a batch; an error in them is raised then.

Reaches into PySpark: ``StatefulProcessorApiClient._send_proto_message`` and the methods ``_receive_proto_message...``
are the only ways to the socket for the calls that are posted or waited for.
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

MOST_UNANSWERED = 1000
"""With more, the answers could fill the connection: then the JVM would wait for us and we for the JVM."""

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


class Outbox:
    """The calls of this process that have been posted: a worker has one task, and a task one client."""

    def __init__(self) -> None:
        self.is_posting = False
        self.unanswered = 0
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
    Client._send_proto_message = send  # type: ignore[assignment, method-assign] # noqa: SLF001


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


def send(client: Client, message: bytes) -> None:
    """Writes a message; one that is posted stays in the buffer until somebody waits."""
    if OUTBOX.first is not None:
        first, OUTBOX.first = OUTBOX.first, None
        first()
    # The version of the protocol, the length.
    client.sockfile.write(struct.pack(">ii", 0, len(message)) + message)
    if not OUTBOX.is_posting:
        client.sockfile.flush()
        return
    OUTBOX.unanswered += 1
    if OUTBOX.unanswered >= MOST_UNANSWERED:
        finish(client)


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
    failed = None
    while OUTBOX.unanswered:
        OUTBOX.unanswered -= 1
        status, message, _ = OUTBOX.read(client)
        failed = failed or (message if status else None)
    if failed is not None:
        message = f"Error in a call for state: {failed}"
        raise PySparkRuntimeError(message)


def finish(client: Client) -> None:
    """Sends what was posted and waits for the answers, so that an error shows before its rows are answered."""
    if OUTBOX.unanswered:
        client.sockfile.flush()
        settle(client)


def forget() -> None:
    """Begins a task: what an earlier one posted is gone with its connection."""
    OUTBOX.is_posting = False
    OUTBOX.unanswered = 0
    OUTBOX.first = None
