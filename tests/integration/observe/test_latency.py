# SPDX-License-Identifier: Apache-2.0
"""Every record is measured once, in each part of its latency, whatever it passes on its way."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from headrace.local import Record
from tests.integration.observe.shapes import STAGES, counted, stateless
from tests.integration.observe.watching import PARTS, await_observed, count_of
from tests.integration.streams import PATIENCE, run_micro_batches, start_real_time

if TYPE_CHECKING:
    from tests.integration.streams import Bench

COUNT = 300
KEYS = 7
DELAY_MS = 5000
# The histograms keep two digits, and each percentile is the upper end of its bucket.
ROUNDING = 1.02
RECORDS = [Record(key=f"key {number % KEYS}".encode(), value=b"x" * number) for number in range(COUNT)]


def all_measured(found: dict[str, Any], count: int = COUNT) -> bool:
    return all(count_of(found, part) >= count for part in PARTS)


@pytest.mark.parametrize("name", STAGES)
def test_each_record_is_measured_once(bench: Bench, name: str) -> None:
    build, stages = STAGES[name]
    source, sink = bench.kafka.topic("source"), bench.kafka.topic("sink")
    query = start_real_time(bench.write(build(bench.read(source)), sink))
    bench.kafka.produce(source, RECORDS)
    bench.kafka.read_until(sink, COUNT, timeout=PATIENCE)
    found = await_observed(query, all_measured)
    total = found["latency"]["total"]
    assert {part: total[part]["count"] for part in PARTS} == dict.fromkeys(PARTS, COUNT)
    assert all(sum(count for _, count in total[part]["buckets"]) == COUNT for part in PARTS)
    assert total["timers"]["count"] == 0
    assert total["untold"]["count"] == 0
    assert sum(slice_["in"] for slice_ in found["slices"]) == sum(slice_["out"] for slice_ in found["slices"]) == COUNT
    assert found["creation"] == "known"
    assert len(found["stages"]) == stages


def test_the_parts_add_up(bench: Bench) -> None:
    source, sink = bench.kafka.topic("source"), bench.kafka.topic("sink")
    query = start_real_time(bench.write(counted(bench.read(source)), sink))
    bench.kafka.produce(source, RECORDS)
    total = await_observed(query, all_measured)["latency"]["total"]
    parts = [total[part] for part in PARTS[:-1]]
    whole = total["end_to_end"]
    assert whole["mean"] == pytest.approx(sum(part["mean"] for part in parts), rel=0.02)
    assert all(whole["max"] * ROUNDING >= part["max"] for part in parts)
    assert whole["p50"] <= whole["p90"] <= whole["p99"] <= whole["p999"] <= whole["max"]


def test_a_record_that_waited_was_queueing(bench: Bench) -> None:
    """What was created long before it could be read shows there, and in the whole, not in the other parts."""
    source, sink = bench.kafka.topic("source", partitions=1), bench.kafka.topic("sink")
    query = start_real_time(bench.write(counted(bench.read(source)), sink))
    bench.kafka.produce(source, [Record(key=b"first", value=b"")])
    await_observed(query, lambda found: all_measured(found, 1))
    created = int(time.time() * 1000) - DELAY_MS
    bench.kafka.produce(source, [Record(key=b"late", value=b"", timestamp_ms=created)])
    total = await_observed(query, lambda found: all_measured(found, 2))["latency"]["total"]
    assert total["queueing"]["max"] >= DELAY_MS
    assert total["end_to_end"]["max"] >= DELAY_MS
    assert total["end_to_end"]["max"] * ROUNDING >= total["queueing"]["max"]


@pytest.mark.usefixtures("few_partitions")
def test_rows_that_wait_for_a_stage_are_seen(bench: Bench) -> None:
    """Behind the stage that sends them; the last one has nobody to send to."""
    source, sink = bench.kafka.topic("source"), bench.kafka.topic("sink")
    slowly = "coalesce(reflect('java.lang.Thread', 'sleep', 1000L), cast(length(key) as string)) value"
    query = start_real_time(bench.write(bench.read(source).repartition(1, "key").selectExpr(slowly), sink))
    bench.kafka.produce(source, [Record(key=b"x" * 20_000, value=b"") for _ in range(300)])
    found = await_observed(query, lambda found: len(found["stages"]) > 0 and (found["stages"][0]["queue"] or 0) > 0.1)
    assert found["stages"][1]["queue"] is None


@pytest.mark.parametrize(("hot", "share"), [(True, 0.6), (False, 0.25)], ids=["a hot key", "four keys in turns"])
def test_the_busiest_key_of_a_partition_is_known(bench: Bench, *, hot: bool, share: float) -> None:
    """By a sample; one that took every so-manieth record would see one key of four that come in turns."""
    source, sink = bench.kafka.topic("source", partitions=1), bench.kafka.topic("sink")
    query = start_real_time(bench.write(stateless(bench.read(source)), sink))
    keys = [b"hot" if hot and number % 5 < 3 else f"key {number % 4}".encode() for number in range(8000)]
    bench.kafka.produce(source, [Record(key=key, value=b"") for key in keys])
    found = await_observed(query, lambda found: count_of(found, "delivery") == len(keys))
    (partition,) = found["partitions"]
    busiest = partition["busiest_key"]
    assert busiest["share"] == pytest.approx(share, abs=0.1)
    assert busiest["key"] == "hot" if hot else busiest["key"] in {"key 0", "key 1", "key 2", "key 3"}


def test_creation_is_unknown_where_the_broker_stamps_records(bench: Bench) -> None:
    source = bench.kafka.topic("source", config={"message.timestamp.type": "LogAppendTime"})
    query = start_real_time(bench.write(stateless(bench.read(source)), bench.kafka.topic("sink")))
    bench.kafka.produce(source, RECORDS)
    found = await_observed(query, lambda found: count_of(found, "delivery") == COUNT)
    total = found["latency"]["total"]
    assert found["creation"] == "unknown"
    assert total["queueing"] is None
    assert total["end_to_end"] is None
    assert total["processing"]["count"] == COUNT


def test_exactly_once_delivery_ends_with_the_commit(bench: Bench) -> None:
    source, sink = bench.kafka.topic("source"), bench.kafka.topic("sink")
    writer = bench.write(stateless(bench.read(source)), sink).options(delivery="exactly-once", commitInterval="200ms")
    query = start_real_time(writer)
    bench.kafka.produce(source, RECORDS)
    bench.kafka.read_until(sink, COUNT, committed=True, timeout=PATIENCE)
    found = await_observed(query, all_measured)
    assert {part: count_of(found, part) for part in PARTS} == dict.fromkeys(PARTS, COUNT)
    assert found["delivery"] == "exactly-once"
    assert found["commits"]["times_ms"]


def test_a_micro_batch_query_is_measured_too(bench: Bench) -> None:
    source, sink = bench.kafka.topic("source"), bench.kafka.topic("sink")
    bench.kafka.produce(source, RECORDS)
    query = run_micro_batches(bench.write(stateless(bench.read(source)), sink))
    found = await_observed(query, lambda found: found["state"] == "stopped" and all_measured(found))
    assert {part: count_of(found, part) for part in PARTS} == dict.fromkeys(PARTS, COUNT)
    assert found["mode"] == "micro-batch"


def test_nothing_is_measured_where_that_is_switched_off(bench: Bench) -> None:
    """Results are the same, also behind a shuffle, whose rows go without stamps."""
    source, sink = bench.kafka.topic("source"), bench.kafka.topic("sink")
    conf: Any = bench.spark.sparkContext._jsc.sc().conf()
    conf.set("spark.headrace.observe", "false")
    try:
        query = start_real_time(bench.write(counted(bench.read(source)), sink))
        bench.kafka.produce(source, RECORDS)
        bench.kafka.read_until(sink, COUNT, timeout=PATIENCE)
        found = await_observed(query, lambda found: bool(found["state"] == "running"))
        query.stop()
    finally:
        conf.set("spark.headrace.observe", "true")
    assert [found["latency"]["total"][part] for part in PARTS] == [None] * len(PARTS)
