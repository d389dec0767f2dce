# SPDX-License-Identifier: Apache-2.0
"""Writes the page of what real-time mode supports.

``python -m headrace.advise.support`` prints it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from headrace.advise.rules import Rule, Verdict, load_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

_PAGE = """\
# What real-time mode supports

<!-- Written by `python -m headrace.advise.support` from engine/src/main/resources/headrace/rules.json; do not edit. -->

The engine checks a query against this table: its sink and its logical plan inside `start()`, its physical plan before
the first task. What is not supported is refused there with the condition named below.

{features}

The columns for Spark are what its own list of allowed operators and sinks admits; its guide also names the memory sink,
but the one that `format("memory")` makes is not on that list. In Spark 4.1 only Scala and Java can ask for real-time
mode; PySpark has `trigger(realTime=...)` since 4.2.

## Refused, and what to do instead

{refused}

Under micro-batch triggers everything runs that Spark runs; the table is about `trigger(realTime=...)` alone.

## Supported, with something to know

- **Output mode**: update. A query whose rows are the same in append and in update mode may leave it out, and a line in
  the log says so; for others the error `OUTPUT_MODE` names the line to add.
- **Union**: each branch needs a `load()` of its own. Spark refuses the same DataFrame twice in one real-time query.
- **foreach from Python**: Spark collects rows before it hands them to Python; on a quiet stream they arrive when the
  epoch ends. For prompt results write to Kafka. A writer in Scala or Java gets each row at once.
- **Console**: prints what an epoch wrote when it ends. To watch results as they come, write to Kafka and use
  `headrace tail`.
- **withWatermark**: the watermark moves at a boundary between two epochs, never inside one. In Spark 4.1 it has no
  effect, because nothing there keeps state.
- **transformWithState**: `handleInputRows` is called once per row. Timers are looked at when a row arrives at the same
  partition, and at the end of the epoch.
- **Shuffles**: every stage holds its tasks for the whole epoch; see
  [concurrent stages](../explanation/real-time-mode.md#all-stages-at-once) for how many slots that takes.
"""


def as_page(rules: Sequence[Rule]) -> str:
    """Returns the page for a table of rules."""
    features = ["| Feature | Spark 4.1 | Spark 4.3 | Headrace |", "|---|---|---|---|"]
    refused = ["| Feature | Condition | Why | Instead |", "|---|---|---|---|"]
    for rule in rules:
        features.append(
            f"| {rule.what} | {rule.spark_4_1.value} | {rule.spark_4_3.value} | {_emphasised(rule.headrace)} |"
        )
        if rule.headrace is Verdict.NO:
            refused.append(f"| {rule.what} | `{rule.condition}` | {_sentence(rule.reason)} | {rule.instead} |")
    return _PAGE.format(features="\n".join(features), refused="\n".join(refused))


def _emphasised(verdict: Verdict) -> str:
    return f"**{verdict.value}**"


def _sentence(clause: str | None) -> str:
    return f"{clause[0].upper()}{clause[1:]}" if clause else ""


if __name__ == "__main__":
    sys.stdout.write(as_page(load_rules()))
