# SPDX-License-Identifier: Apache-2.0
"""Splits the latency of ordinary records at the broker's two appends: sent, in the engine, received."""

from __future__ import annotations

import json
from contextlib import closing
from statistics import fmean, quantiles
from typing import TYPE_CHECKING, Any

from headrace.local import Reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engines.engine import Job

    from headrace.local import Record

APPEND_TIMES = {"log.message.timestamp.type": "LogAppendTime"}
"""The broker's setting without which records carry their producers' times."""
# The broker cuts its clock off at whole milliseconds.
HALF_TICK_MS = 0.5


def split(job: Job, receipts: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Returns how long ordinary records took for each leg of their way, in milliseconds; see legs."""
    sent = {int(value["ts"]): (int(value["id"]), at) for value, at in _appends(job, job.source)}
    answered: dict[int, float] = {}
    for value, at in _appends(job, job.sink):
        # A count names the newest record that it includes.
        answered.setdefault(int(value["id" if "id" in value else "last"]), at)
    rows = []
    for due, received in receipts:
        number, appended = sent[int(due * 1000)]
        if number in answered:
            rows.append((due * 1000, appended, answered[number], received * 1000))
    return legs(rows)


def legs(rows: Sequence[tuple[float, float, float, float]]) -> dict[str, float]:
    """Returns the mean of each leg over the middle half of the records, by latency; so the legs add up.

    The rare slow ones, which met a boundary or a pause, would drown the others in a mean; medians would not add up, and
    with a clock of whole milliseconds there would be few of them to choose from.

    Args:
        rows: When each record was due, appended, its answer appended, and received, in milliseconds.
    """
    lowest, p50, highest = quantiles([row[3] - row[0] for row in rows], n=4)
    middle = [row for row in rows if lowest <= row[3] - row[0] <= highest]
    due, appended, answered, received = (fmean(column) for column in zip(*middle, strict=True))
    return {
        "records": len(middle),
        "p50": round(p50, 3),
        "send": round(appended + HALF_TICK_MS - due, 3),
        "engine": round(answered - appended, 3),
        "receive": round(received - answered - HALF_TICK_MS, 3),
    }


def _appends(job: Job, topic: str) -> Iterator[tuple[dict[str, Any], float]]:
    with closing(Reader(job.bootstrap, topic)) as reader:
        while not reader.at_end:
            for record in reader.poll():
                yield _value(record), float(record.timestamp_ms or 0)


def _value(record: Record) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(record.value or b"{}")
    return value
