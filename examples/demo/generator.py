# SPDX-License-Identifier: Apache-2.0
"""Sends planned transactions to Kafka, each at its time, whatever the query does.

The times are fixed before the first transaction is sent (an open loop), and each transaction carries the time at which
it was due. A query that stalls therefore shows the stall in full: nobody waits for it.
"""

from __future__ import annotations

import contextlib
import gc
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import Producer

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from transactions import Transaction

_REPORT_SECONDS = 0.25
_TIMEOUT_SECONDS = 30
_QUEUE_RECORDS = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """A part of the plan to send.

    Attributes:
        first: The first transaction to send.
        end: The first one not to send any more.
        start_us: The time that the plan's times count from, in microseconds since 1970.
    """

    first: int
    end: int
    start_us: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """What was sent since the last report.

    Attributes:
        lateness_us: How late each transaction was handed to the Kafka client, in microseconds.
    """

    lateness_us: list[int]


def generate(bootstrap: str, topic: str, plan: list[Transaction], parent: Connection) -> None:
    """Sends what its parent asks for and reports all along, until the parent hangs up.

    Args:
        bootstrap: The broker's address.
        topic: Where the transactions go.
        plan: What to send.
        parent: Asks with ``Order`` and gets ``Sent``.
    """
    # Ctrl-C goes to every process of the terminal; the parent ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "log_level": 2,
            # Each transaction leaves at its time and does not wait for company.
            "linger.ms": 0,
            "queue.buffering.max.messages": _QUEUE_RECORDS,
        }
    )
    producer.list_topics(topic, timeout=_TIMEOUT_SECONDS)
    # A collection of garbage over the whole plan would delay a few transactions by tens of milliseconds.
    gc.freeze()
    # The parent hung up when one of these is raised.
    with contextlib.suppress(BrokenPipeError, EOFError):
        while True:
            _send(producer, topic, plan, parent)


def _send(producer: Producer, topic: str, plan: list[Transaction], parent: Connection) -> None:
    order: Order = parent.recv()
    # The wall clock may be set while we send; the steps between two transactions must not jump with it.
    start = time.monotonic() + (order.start_us / 1e6 - time.time())
    lateness_us: list[int] = []
    next_report = start
    for transaction in plan[order.first : order.end]:
        offset = transaction.due.total_seconds()
        due = start + offset
        now = time.monotonic()
        while now < due:
            time.sleep(due - now)
            now = time.monotonic()
        value = f'{{"sent_at":{order.start_us + round(offset * 1e6)},{transaction.body}}}'
        producer.produce(topic, value.encode(), transaction.key)
        producer.poll(0)
        lateness_us.append(round((now - due) * 1e6))
        if now >= next_report:
            parent.send(Sent(lateness_us=lateness_us))
            lateness_us = []
            next_report = now + _REPORT_SECONDS
    producer.flush(_TIMEOUT_SECONDS)
    parent.send(Sent(lateness_us=lateness_us))
