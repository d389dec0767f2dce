# SPDX-License-Identifier: Apache-2.0
"""The measuring stick is measured itself: answers are checked, latencies counted from the intended time."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import psutil
import pytest
from harness.histogram import Histogram
from harness.ledger import Ledger
from harness.machine import Reading
from harness.ranking import rankings
from hypothesis import given
from hypothesis import strategies as st
from workloads import records
from workloads.catalog import WORKLOADS, score
from workloads.records import Load
from workloads.workload import WrongAnswerError

LOAD = Load(rate=100, keys=3)


def answer(name: str, number: int) -> dict[str, int]:
    """The right answer to one record."""
    fields = {
        "stateless": {"fee": records.cents(number) * 3},
        "join": {"category": records.category(records.merchant(number))},
        "count": {"card": number % 3, "n": number // 3 + 1, "last": number},
        "udf": {"score": score(records.cents(number))},
        "state": {"n": number // 3 + 1, "total": sum(records.cents(n) for n in range(number % 3, number + 1, 3))},
    }
    return {"id": number, **fields.get(name, {})}


def opened(name: str, seconds: float = 0.3) -> tuple[Ledger, float]:
    ledger = Ledger(WORKLOADS[name])
    return ledger, ledger.open(LOAD, seconds).start_s


def take(ledger: Ledger, received_s: float, answers: Iterable[dict[str, int]]) -> None:
    ledger.take([(received_s, json.dumps(one).encode()) for one in answers])


@pytest.mark.parametrize("name", ["join", "count", "udf", "state"])
def test_right_answers_leave_nothing_missing(name: str) -> None:
    ledger, start_s = opened(name)
    take(ledger, start_s + 1, (answer(name, number) for number in range(30)))
    measured = ledger.close()
    assert (ledger.missing, measured.records, measured.duplicates) == (0, 30, 0)


def test_filtered_records_need_no_answer_and_get_none() -> None:
    ledger, start_s = opened("stateless", 1)
    kept = [number for number in range(100) if records.cents(number) > 1000]
    assert ledger.missing == len(kept) < 100
    dropped = next(number for number in range(100) if number not in kept)
    with pytest.raises(WrongAnswerError, match="no answer"):
        take(ledger, start_s, [answer("stateless", dropped)])


@pytest.mark.parametrize(
    ("name", "field"),
    [("stateless", "fee"), ("join", "category"), ("count", "n"), ("udf", "score"), ("state", "total")],
)
def test_a_wrong_answer_is_an_error(name: str, field: str) -> None:
    ledger, start_s = opened(name)
    wrong = answer(name, 1)
    wrong[field] += 1
    with pytest.raises(WrongAnswerError):
        take(ledger, start_s, [wrong])


@pytest.mark.parametrize("value", [b"{}", b"not json", b"[1]"])
def test_what_is_no_answer_is_an_error(value: bytes) -> None:
    ledger, start_s = opened("stateless")
    with pytest.raises(WrongAnswerError, match="not an answer"):
        ledger.take([(start_s, value)])


def test_an_answer_that_comes_twice_is_a_duplicate() -> None:
    ledger, start_s = opened("join")
    take(ledger, start_s, [answer("join", 0), answer("join", 0)])
    assert ledger.close().duplicates == 1


def test_copies_are_not_expected() -> None:
    ledger, _ = opened("dedup")
    assert ledger.missing == 24
    assert [records.told(number) for number in range(5)] == [0, 1, 2, 3, 3]


def test_a_latency_counts_from_the_intended_time() -> None:
    ledger, start_s = opened("join")
    take(ledger, start_s + 0.5, [answer("join", 0), answer("join", 20)])
    measured = ledger.close()
    assert measured.series == [(0.0, 500.0), (0.2, 300.0)]
    assert measured.histogram.at_ms(100) == pytest.approx(500, rel=1e-3)


def test_records_behind_a_window_must_be_answered_and_do_not_count() -> None:
    """They keep the stream going, so that nobody waits for the end of a window."""
    ledger = Ledger(WORKLOADS["join"])
    start_s = ledger.open(LOAD, 0.3, behind_s=0.1).start_s
    take(ledger, start_s + 1, (answer("join", number) for number in range(30)))
    assert ledger.missing == 10
    take(ledger, start_s + 9, (answer("join", number) for number in range(30, 40)))
    measured = ledger.close()
    assert (ledger.missing, measured.records, measured.behind) == (0, 30, 10)
    assert measured.histogram.at_ms(100) == pytest.approx(1000, rel=1e-3)


def test_one_count_answers_every_record_that_it_counts() -> None:
    ledger, start_s = opened("count")
    take(ledger, start_s + 1, [answer("count", 27), answer("count", 28), answer("count", 29)])
    assert ledger.missing == 0
    assert ledger.close().histogram.at_ms(100) == pytest.approx(1000, rel=1e-3)


def test_a_window_counts_from_its_own_start() -> None:
    ledger = Ledger(WORKLOADS["window"])
    sent = ledger.open(LOAD, 30)
    start_ms = int(sent.start_s * 1000) // 10_000 * 10_000 + 10_000
    first = next(number for number in range(sent.count) if sent.ts_ms(number) >= start_ms and number % 3 == 0)
    take(ledger, sent.start_s, [{"card": 0, "start": start_ms, "n": 2, "last": first + 3}])
    with pytest.raises(WrongAnswerError):
        take(ledger, sent.start_s, [{"card": 0, "start": start_ms, "n": 4, "last": first + 6}])


def test_behind_a_shuffle_a_count_answers_when_it_is_whole() -> None:
    ledger, start_s = opened("shuffles")
    take(ledger, start_s, [{"card": 0, "n": 1, "last": 3}])
    assert ledger.missing == 30
    take(ledger, start_s, [{"card": 0, "n": 2, "last": 3}])
    assert ledger.missing == 28
    with pytest.raises(WrongAnswerError):
        take(ledger, start_s, [{"card": 0, "n": 4, "last": 6}])


def test_running_totals_must_come_in_order() -> None:
    ledger, start_s = opened("state")
    with pytest.raises(WrongAnswerError, match="before record 0"):
        take(ledger, start_s, [answer("state", 3)])


@given(st.integers(0, 10**7), st.integers(100, 2000))
def test_records_have_the_size_that_was_asked_for(number: int, size: int) -> None:
    value = records.value(number, 1_700_000_000_000, Load(size=size))
    assert len(value) == size
    assert json.loads(value)["cents"] == records.cents(number)


def test_histograms_merge_without_loss() -> None:
    some, others = [0.5, 1.25, 80.0], [0.001, 3.0, 9000.0, 599_000.0]
    merged = Histogram.decoded(Histogram.of_ms(part).encoded() for part in (some, others))
    assert merged.percentiles_ms() == Histogram.of_ms(some + others).percentiles_ms()


def cell(engine: str, *p99s: float) -> dict[str, Any]:
    load = {"workload": "count", "rate": 1, "size": 1, "keys": 1, "partitions": 1, "checkpoint_ms": 1}
    windows = [{"p50": 1.0, "p99": p99, "usable": True} for p99 in p99s]
    return {
        **load,
        "engine": engine,
        "verdict": "measured",
        "windows": windows,
        "median": {"p50": 1.0, "p99": sorted(p99s)[len(p99s) // 2]},
    }


@pytest.mark.parametrize(
    ("ours", "theirs", "certain"),
    [
        ((1, 2, 3), (6, 7, 8), True),
        ((1, 2, 6), (6, 7, 8), False),  # They overlap.
        ((10, 11, 12), (13, 14, 15), False),  # Apart, yet too close.
        ((1, 2), (6, 7), False),  # Too few.
    ],
)
def test_a_ranking_is_certain_only_if_no_window_says_otherwise(
    ours: tuple[float, ...], theirs: tuple[float, ...], *, certain: bool
) -> None:
    (ranking,) = rankings([cell("slow", *theirs), cell("fast", *ours)])
    assert (ranking["faster"], ranking["point"], ranking["certain"]) == ("fast", "p99", certain)


def test_in_other_hands_is_what_was_neither_idle_nor_ours() -> None:
    before = Reading(at=0.0, idle_s=100.0, stolen_s=5.0, family_s=7.0, engine_s=2.0, engines_s=3.0, load_s=1.0)
    seconds = 10.0 * (psutil.cpu_count() or 1)
    after = replace(
        before,
        at=10.0,
        idle_s=100.0 + 0.5 * seconds,
        stolen_s=5.0 + 0.02 * seconds,
        family_s=7.0 + 0.4 * seconds,
    )
    assert before.until(after)["foreign_cpu"] == pytest.approx(0.1)
    assert before.until(after)["stolen_cpu"] == pytest.approx(0.02)
