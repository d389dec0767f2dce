# SPDX-License-Identifier: Apache-2.0
"""What `headrace bench --all` measures, how far it looks, and what becomes of an engine that cannot go on."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
from axes import LOADS, all_rounds
from engines.engine import Job
from engines.roster import ENGINES
from harness.contestant import Contestant
from harness.generator import Lateness
from harness.round import Round
from harness.stage import DroppedError, Stage, _Drops
from harness.sustained import highest
from workloads import records
from workloads.catalog import WORKLOADS
from workloads.records import Load
from workloads.workload import WrongAnswerError

from tests.unit.bench_results import window

BASE_CHECKPOINT_MS = 5000


def every_round() -> list[Round]:
    workload = WORKLOADS["stateless"]
    return list(all_rounds(Round(workload=workload, engines=[], loads=[Load()], window_s=1, warm_up_s=1, windows=1)))


def test_each_round_has_a_file_of_its_own() -> None:
    names = [one.name for one in every_round()]
    assert all(names)
    assert len(set(names)) == len(names)


def test_every_workload_and_every_rival_is_measured_in_the_base_case() -> None:
    base = [one for one in every_round() if Load() in one.loads and one.checkpoint_ms == BASE_CHECKPOINT_MS]
    assert {one.workload.name for one in base} == set(WORKLOADS)
    # Headrace without some part of itself is no rival.
    assert {engine.name for one in base for engine in one.engines} == set(ENGINES) - {
        "headrace-off",
        "headrace-unobserved",
        "headrace-sql",
    }


def test_the_highest_rate_is_searched_from_the_base_case() -> None:
    assert LOADS[0] == Load()


class Limited:
    """A stage on which an engine keeps up to a rate, and not beyond; the generator is late once, or always."""

    def __init__(self, limit: int, late: int | None) -> None:
        self._limit, self._late = limit, late
        self.tried: list[int] = []

    def window(self, _contestant: Contestant, load: Load, *_: float, keep: bool) -> dict[str, Any]:
        assert not keep
        self.tried.append(load.rate)
        late_ms = 50.0 if self._late in (None, len(self.tried)) else 0.5
        return {**window(10 if load.rate <= self._limit else 5000), "generator_late_ms": {"p99": late_ms}}


def test_the_highest_rate_is_searched_above_those_that_were_no_trouble(tmp_path: Path) -> None:
    job = Job(workload="stateless", bootstrap="nowhere:1", source="in", sink="out", folder=tmp_path)
    contestant = Contestant(ENGINES["hop"](), job, WORKLOADS["stateless"])
    contestant.windows = {Load(): [window(1)], Load(rate=5000): [window(1)], Load(rate=10_000): [window(2000)]}
    contestant.completed = set(contestant.windows)
    stage = Limited(9000, late=2)
    assert highest(cast("Stage", stage), contestant, Load())["rate"] == 9000
    assert stage.tried == [5000, 7500, 7500, 11250, 9000]


def test_a_late_generator_does_not_put_an_engine_out_of_the_round(tmp_path: Path) -> None:
    job = Job(workload="stateless", bootstrap="nowhere:1", source="in", sink="out", folder=tmp_path)
    contestant = Contestant(ENGINES["hop"](), job, WORKLOADS["stateless"])
    stage = Limited(9000, late=None)
    found = highest(cast("Stage", stage), contestant, Load())
    assert (found["rate"], found["limit"]) == (1000, "the generator on this machine")


@pytest.mark.parametrize(("late_ms", "p99", "usable"), [(17, 25, False), (17, 549, True), (9, 10, True)])
def test_a_generator_that_is_late_beside_a_slow_engine_is_no_excuse_for_it(
    tmp_path: Path, late_ms: float, p99: float, *, usable: bool
) -> None:
    job = Job(workload="join", bootstrap="nowhere:1", source="in", sink="out", folder=tmp_path)
    contestant = Contestant(ENGINES["hop"](), job, WORKLOADS["join"])
    start_s = contestant.ledger.open(Load(), 0.1).start_s
    for number in range(100):
        category = records.category(records.merchant(number))
        due_s = start_s + number / 1000
        contestant.ledger.take([(due_s + p99 / 1000, json.dumps({"id": number, "category": category}).encode())])
    cpu = {"foreign_cpu": 0.01, "engine_cpu_s": 0.1}
    window = contestant.enter(contestant.ledger.close(), Lateness(late_ms, late_ms), cpu, keep=False)
    assert window["usable"] is usable


@pytest.mark.parametrize(
    ("error", "verdicts"),
    [
        (DroppedError("7 records unanswered"), ["measured", "cannot"]),
        (WrongAnswerError("2 and 2 are not 5"), ["cannot", "cannot"]),
    ],
    ids=["too slow for a load", "a wrong answer"],
)
def test_an_engine_that_goes_out_keeps_what_it_has_shown(error: Exception, verdicts: list[str], tmp_path: Path) -> None:
    job = Job(workload="stateless", bootstrap="nowhere:1", source="in", sink="out", folder=tmp_path)
    contestant = Contestant(ENGINES["hop"](), job, WORKLOADS["stateless"])
    easy, hard = Load(), Load(rate=10_000)
    contestant.windows = {easy: [window(1)], hard: [window(1)]}
    contestant.completed = {easy}
    with _Drops(contestant, lambda _: None):
        raise error
    assert [contestant.cell(load)["verdict"] for load in (easy, hard)] == verdicts
