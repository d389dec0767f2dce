# SPDX-License-Identifier: Apache-2.0
"""Makes figures of what was heard in both modes, by one rule for both."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from app.desk import MICRO_BATCH, REAL_TIME
from app.matching import gaps_ms, in_turn, is_in_turn, last_before
from app.trial import NoResultError
from harness.histogram import POINTS, Histogram

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.trial import Heard, Outcome

IN_TURN = (
    "Every input had one output with its key: the first output of a key answers its first input, and so on. Latency is "
    "from an input's creation (its record's timestamp, in whole milliseconds) until a consumer has the output."
)
LAST_BEFORE = (
    "An output answers the last input with its key that was created before a consumer had it; inputs without an answer "
    "are not counted. Latency is from an input's creation (its record's timestamp, in whole milliseconds)."
)
LEGEND = (
    "CPU-s / M: processor seconds of the application's processes on this machine per million inputs. Slots: tasks that "
    "run at once. One window for each mode, one after the other: repeat it before you trust a small difference."
)
# Where one key in ten comes again this soon, many an answer may be another input's. Not the measured latency itself:
# it cannot be longer than the gap.
SHORT_GAP = 0.10
MARGIN = 3
UNITS_S = {"millisecond": 0.001, "second": 1, "minute": 60, "hour": 3600, "day": 86_400}


def measured(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Returns what a result file says of the modes of an application.

    Raises:
        NoResultError: The topics are of a kind that cannot be measured.
    """
    ran = [outcome for outcome in outcomes if not outcome.why_not]
    for outcome in ran:
        for heard in outcome.queries:
            _check(heard, outcome)
    is_exact = all(
        is_in_turn(heard.catch.inputs, heard.catch.outputs, outcome.window[1])
        for outcome in ran
        for heard in outcome.queries
    )
    count = max((len(outcome.queries) for outcome in ran), default=0)
    return {
        "cannot": {outcome.mode: outcome.why_not for outcome in outcomes if outcome.why_not},
        "unmeasured": sorted({line for outcome in outcomes for line in outcome.unmeasured}),
        "rule": IN_TURN if is_exact else LAST_BEFORE,
        "legend": LEGEND,
        "queries": [_query(ran, place, is_exact=is_exact) for place in range(count)],
    }


def _check(heard: Heard, outcome: Outcome) -> None:
    catch, query = heard.catch, heard.query
    topics = ", ".join(query.sources)
    problem = None
    if catch.stamped_by_broker:
        problem = (
            f"{topics} stamps records with the broker's time (message.timestamp.type=LogAppendTime), so nobody knows "
            "when they were created. Measure with a topic that keeps the producer's time (CreateTime)"
        )
    elif not catch.inputs:
        problem = f"The records of {topics} have no keys, and inputs and outputs are matched by their keys"
    elif not catch.outputs:
        problem = f"The results of {query.name} have no keys, and inputs and outputs are matched by their keys"
    elif not any(outcome.window[0] <= created_s < outcome.window[1] for created_s, _ in catch.inputs):
        problem = (
            f"No record of {topics} was created during the window of {outcome.mode} mode. Either the producer has "
            "stopped, or it gives its records a time of its own, or its clock is wrong"
        )
    elif not {key for _, key in catch.inputs} & {key for _, key in catch.outputs}:
        problem = f"No result of {query.name} has the key of an input, and they are matched by their keys"
    if problem:
        raise NoResultError(f"{problem}.")  # noqa: EM102 put together above


def _query(ran: Sequence[Outcome], place: int, *, is_exact: bool) -> dict[str, Any]:
    of = [(outcome, outcome.queries[place]) for outcome in ran if place < len(outcome.queries)]
    modes = {outcome.mode: _cell(outcome, heard, is_exact=is_exact) for outcome, heard in of}
    slow, fast = modes.get(MICRO_BATCH), modes.get(REAL_TIME)
    return {
        "name": of[0][1].query.name,
        "modes": modes,
        "gain": {point: round(slow[point] / fast[point], 2) for point in POINTS} if slow and fast else {},
        "notes": [
            *(note for outcome, heard in of if not is_exact and (note := _on_gaps(outcome, heard, modes))),
            *(note for outcome, heard in of if (note := _on_epochs(outcome, heard))),
        ],
    }


def _cell(outcome: Outcome, heard: Heard, *, is_exact: bool) -> dict[str, Any]:
    match = in_turn if is_exact else last_before
    latencies = match(heard.catch.inputs, heard.catch.outputs, outcome.window)
    if not latencies:
        message = f"No input of {heard.query.name} in the window of {outcome.mode} mode was answered."
        raise NoResultError(message)
    histogram = Histogram.of_ms(latencies)
    everything = sum(_inputs(each, outcome) for each in outcome.queries)
    [(trigger, interval)] = heard.query.trigger.items()
    return {
        **{point: round(value, 3) for point, value in histogram.percentiles_ms().items()},
        "records": len(latencies),
        "inputs": _inputs(heard, outcome),
        "trigger": f'{trigger}="{interval}"',
        "cpu_s_per_million": round(outcome.cpu["engine_cpu_s"] / everything * 1_000_000, 1),
        "slots": heard.slots,
        "engine_cpu_s": outcome.cpu["engine_cpu_s"],
        "foreign_cpu": outcome.cpu["foreign_cpu"],
        "histogram": histogram.encoded(),
    }


def _inputs(heard: Heard, outcome: Outcome) -> int:
    begin_s, end_s = outcome.window
    return sum(begin_s <= created_s < end_s for created_s, _ in heard.catch.inputs)


def _on_gaps(outcome: Outcome, heard: Heard, modes: dict[str, dict[str, Any]]) -> str:
    gaps = gaps_ms(heard.catch.inputs, outcome.window)
    short = gaps[int(len(gaps) * SHORT_GAP)] if gaps else None
    if short is None or short > MARGIN * modes[outcome.mode]["p99"]:
        return ""
    return (
        f"{outcome.mode}: the true latencies may be higher. One key in ten came again within {short:.0f} ms, and an "
        "answer that takes longer is taken for that of the later input."
    )


def _on_epochs(outcome: Outcome, heard: Heard) -> str:
    epoch = heard.query.trigger.get("realTime", "")
    said = re.search(rf"(\d+)\s*({'|'.join(UNITS_S)})s?\b", epoch.lower())
    if said is None or int(said[1]) * UNITS_S[said[2]] <= outcome.window[1] - outcome.window[0]:
        return ""
    return f"{outcome.mode}: an epoch of {epoch} is longer than the window, so the window may lack what a commit costs."
