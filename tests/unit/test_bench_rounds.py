# SPDX-License-Identifier: Apache-2.0
"""What `headrace bench --all` measures, how far it looks, and what becomes of an engine that cannot go on."""

from pathlib import Path
from typing import Any, cast

import pytest
from axes import LOADS, all_rounds
from engines.engine import Job
from engines.roster import ENGINES
from harness.contestant import Contestant
from harness.round import Round
from harness.stage import DroppedError, Stage, _Drops
from harness.sustained import highest
from workloads.catalog import WORKLOADS
from workloads.records import Load
from workloads.workload import WrongAnswerError

from tests.unit.test_bench_report import window

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
    """A stage on which an engine keeps up to a rate, and not beyond; the generator is late once."""

    def __init__(self, limit: int, late: int) -> None:
        self._limit, self._late = limit, late
        self.tried: list[int] = []

    def window(self, _contestant: Contestant, load: Load, *_: float, keep: bool) -> dict[str, Any]:
        assert not keep
        self.tried.append(load.rate)
        late_ms = 50.0 if len(self.tried) == self._late else 0.5
        return {**window(10 if load.rate <= self._limit else 5000), "generator_late_ms": {"p99": late_ms}}


def test_the_highest_rate_is_searched_above_those_that_were_no_trouble(tmp_path: Path) -> None:
    job = Job(workload="stateless", bootstrap="nowhere:1", source="in", sink="out", folder=tmp_path)
    contestant = Contestant(ENGINES["hop"](), job, WORKLOADS["stateless"])
    contestant.windows = {Load(): [window(1)], Load(rate=5000): [window(1)], Load(rate=10_000): [window(2000)]}
    contestant.completed = set(contestant.windows)
    stage = Limited(9000, late=2)
    assert highest(cast("Stage", stage), contestant, Load())["rate"] == 9000
    assert stage.tried == [5000, 7500, 7500, 11250, 9000]


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
