# SPDX-License-Identifier: Apache-2.0
"""The workloads in Quix Streams; runs in the virtual environment of Quix Streams."""

from __future__ import annotations

import argparse
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from quixstreams import Application, State
from quixstreams.dataframe.windows import Count, Max
from quixstreams.models import TopicConfig
from workloads.catalog import SMALLEST_CENTS, WINDOW_MS, score
from workloads.records import MERCHANTS, category

if TYPE_CHECKING:
    from quixstreams.dataframe import StreamingDataFrame

Value: TypeAlias = dict[str, Any]

LONGEST_PARKED_MS = 1_800_000


def stateless(records: StreamingDataFrame) -> StreamingDataFrame:
    """Drops small payments and computes a fee."""
    return records.filter(lambda value: value["cents"] > SMALLEST_CENTS).apply(
        lambda value: {"id": value["id"], "fee": value["cents"] * 3}
    )


def join(records: StreamingDataFrame) -> StreamingDataFrame:
    """Looks each merchant up in a dictionary."""
    table = {merchant: category(merchant) for merchant in range(MERCHANTS)}
    return records.apply(lambda value: {"id": value["id"], "category": table[value["merchant"]]})


def count(records: StreamingDataFrame) -> StreamingDataFrame:
    """Counts by card: the key of the topic, which is also the key of the state."""

    def tally(value: Value, state: State) -> Value:
        n, last = state.get("tally", (0, 0))
        n, last = n + 1, max(last, value["id"])
        state.set("tally", (n, last))
        return {"card": value["card"], "n": n, "last": last}

    return records.apply(tally, stateful=True)


def window(records: StreamingDataFrame) -> StreamingDataFrame:
    """Counts by card and window, and emits at each update."""
    windows = records.tumbling_window(WINDOW_MS).agg(n=Count(), last=Max("id")).current()
    return windows.apply(
        lambda value, key, _timestamp, _headers: {
            "card": int(key),
            "start": value["start"],
            "n": value["n"],
            "last": value["last"],
        },
        metadata=True,
    )


def dedup(records: StreamingDataFrame) -> StreamingDataFrame:
    """Remembers every id below its card."""

    def is_new(value: Value, state: State) -> bool:
        if state.exists(value["id"]):
            return False
        state.set(value["id"], 1)
        return True

    return records.filter(is_new, stateful=True).apply(lambda value: {"id": value["id"]})


def udf(records: StreamingDataFrame) -> StreamingDataFrame:
    """Calls a function."""
    return records.apply(lambda value: {"id": value["id"], "score": score(value["cents"])})


def state(records: StreamingDataFrame) -> StreamingDataFrame:
    """Keeps count and sum by card."""

    def add(value: Value, totals: State) -> Value:
        n, total = totals.get("totals", (0, 0))
        n, total = n + 1, total + value["cents"]
        totals.set("totals", (n, total))
        return {"id": value["id"], "n": n, "total": total}

    return records.apply(add, stateful=True)


WORKLOADS = {
    "stateless": stateless,
    "join": join,
    "count": count,
    "window": window,
    "dedup": dedup,
    "shuffles": count,
    "udf": udf,
    "state": state,
    "exactly-once": stateless,
}


def shuffle_twice(app: Application, records: StreamingDataFrame, arguments: argparse.Namespace) -> StreamingDataFrame:
    """Sends records by merchant, then by card: each time through a topic, the only way between tasks that there is."""
    config = TopicConfig(num_partitions=arguments.partitions, replication_factor=1)
    by_card = app.topic(f"{arguments.sink}-by-card", key_serializer="str", key_deserializer="str", config=config)
    # A second group_by on the result of the first is refused (GroupByNestingLimit); a topic of one's own is the same.
    records.group_by("merchant").to_topic(by_card, key=lambda value: str(value["card"]))
    return app.dataframe(by_card)


def main() -> None:
    """Runs a workload until standard input ends or SIGTERM comes; Quix Streams itself looks after the latter."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("workload", "bootstrap", "source", "sink", "folder"):
        parser.add_argument(f"--{name}", required=True)
    for name in ("partitions", "commit-ms"):
        parser.add_argument(f"--{name}", required=True, type=int)
    arguments = parser.parse_args()
    commit_s = arguments.commit_ms / 1000
    app = Application(
        broker_address=arguments.bootstrap,
        consumer_group=arguments.sink,
        auto_offset_reset="earliest",
        commit_interval=commit_s,
        # It commits between two polls only: records that nothing follows would wait for the end of the default 1 s.
        consumer_poll_timeout=min(1.0, commit_s),
        # An engine is parked for minutes while the others are measured; its group must not take it for dead.
        consumer_extra_config={
            "group.instance.id": "bench",
            "session.timeout.ms": LONGEST_PARKED_MS,
            "max.poll.interval.ms": LONGEST_PARKED_MS,
        },
        producer_extra_config={"linger.ms": 0},
        state_dir=Path(arguments.folder, "state"),
        processing_guarantee="exactly-once" if arguments.workload == "exactly-once" else "at-least-once",
        loglevel="WARNING",
    )
    records = app.dataframe(app.topic(arguments.source, timestamp_extractor=lambda value, *_: value["ts"]))
    if arguments.workload == "shuffles":
        records = shuffle_twice(app, records, arguments)
    WORKLOADS[arguments.workload](records).to_topic(app.topic(arguments.sink, key_serializer=_key_type(arguments)))
    threading.Thread(target=_stop_at_end_of_input, args=(app,), daemon=True).start()
    app.run()


def _key_type(arguments: argparse.Namespace) -> str:
    return "str" if arguments.workload == "shuffles" else "bytes"


def _stop_at_end_of_input(app: Application) -> None:
    # Not sys.stdin: its lock, held here while the interpreter ends, would end it with a fatal error.
    while os.read(0, 1024):
        pass
    app.stop()


if __name__ == "__main__":
    main()
