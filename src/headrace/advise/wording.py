# SPDX-License-Identifier: Apache-2.0
"""Everything that a check can advise, as a table: what is said, and the page that says more."""

from __future__ import annotations

from dataclasses import dataclass

CHOICE = "explanation/should-i-use-real-time-mode.md"


@dataclass(frozen=True, kw_only=True, slots=True)
class Advice:
    """One thing to know or to change.

    Attributes:
        topic: A stable name in capitals, for programs.
        text: Whole sentences.
        link: The page that says more, below ``docs``.
    """

    topic: str
    text: str
    link: str


WORDING = {
    "STAY_IN_MICRO_BATCH": ("{why} Stay in micro-batch mode. {measured}", CHOICE),
    "STATE_A_BUDGET": (
        "How fresh must results be? Say it with --budget: a plan cannot tell how often its output is read. {measured}",
        CHOICE,
    ),
    "USE_REAL_TIME": ("{why} {measured}", CHOICE),
    "BUDGET_TOO_TIGHT": ("Neither mode met {budget} in our measurements. {measured}", CHOICE),
    "SEVERAL_QUERIES": (
        (
            "{count} real-time queries hold their slots side by side, all the time, and when their application fails, "
            "all of them stop. Their needs are added up above. With an application each, they fail and are deployed "
            "alone."
        ),
        f"{CHOICE}#several-queries",
    ),
    "TRIGGER": (
        "Its trigger is {trigger}. It was judged as if it had .trigger(realTime=...): with that line it changes over.",
        "how-to/move-a-micro-batch-query.md#3-change-the-trigger",
    ),
    "COMMIT_INTERVAL": (
        (
            "Progress is committed at the end of each epoch of {seconds:g} s, because {reason}. A crash repeats up to "
            "that much, and about {share:.1%} of all records meet the gap between two epochs (measured: {gap} ms, "
            "where.json). Longer epochs trade the one for the other; from {rare:.0f} s on it is less than one record "
            "in a hundred."
        ),
        "explanation/real-time-mode.md#the-boundary",
    ),
    "STATE_GROWS": (
        (
            "Nothing removes old state of {operator}: it grows with every new key. Add withWatermark and put the "
            "event time among the keys, or give a processor a time mode and its state a time to live."
        ),
        f"{CHOICE}#state-that-grows",
    ),
    "LINGER": (
        "kafka.linger.ms is {linger:g}: each result may wait that long for company. Leave it out; Headrace sets 0.",
        "reference/kafka.md#writing",
    ),
    "FETCH_MIN_BYTES": (
        (
            "kafka.fetch.min.bytes is {least}: on a quiet stream the broker holds a record back for up to {wait} ms. "
            "Leave it out; Headrace sets 1."
        ),
        "reference/kafka.md#reading",
    ),
    "HOT_PARTITION": (
        (
            "Partition {partition} holds {share:.0%} of the records of {count} partitions. One task reads a "
            "partition, so the query is as fast as that one. Choose keys that spread."
        ),
        f"{CHOICE}#hot-partitions",
    ),
    "LARGE_TABLE": (
        (
            "A static table of about {mib} MiB would go to every executor, and be read again for every epoch. Spark "
            "broadcasts up to 10 MiB of its own accord. Keep only the rows and columns that are needed."
        ),
        f"{CHOICE}#static-tables",
    ),
    "FROZEN_CLOCK": (
        "current_timestamp() moves on as often as the trigger says: with this query it is up to {seconds:g} s old.",
        "explanation/real-time-mode.md#what-stands-still-inside-an-epoch",
    ),
    "GARBAGE_COLLECTOR": (
        (
            "The JVM collects garbage with all threads stopped, and every record waits for it. Java picks this "
            "collector where it sees fewer than two processors or less than 2 GB. Set -XX:+UseG1GC, and measure."
        ),
        f"{CHOICE}#garbage",
    ),
}


def word(topic: str, **parameters: object) -> Advice:
    """Returns the advice on a topic."""
    text, link = WORDING[topic]
    return Advice(topic=topic, text=text.format(**parameters), link=link)
