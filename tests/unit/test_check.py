# SPDX-License-Identifier: Apache-2.0
"""What is made of the engine's report: sizes, advice, outcome, and numbers that are those of the result files."""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from headrace.advise import measured
from headrace.advise.advice import advise, advise_together
from headrace.advise.query import CheckedQuery, Finding, Source, State
from headrace.advise.report import Outcome, Report
from headrace.advise.sizing import size
from headrace.advise.wording import WORDING
from headrace.cli import check

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
DOCS = ROOT / "docs"


def finding(condition: str, *, allowed: bool) -> Finding:
    return Finding(
        where="sink", condition=condition, allowed=allowed, what="A thing", reason="it is so.", instead="No."
    )


READY = CheckedQuery(
    real_time_ms=60_000,
    findings=(finding("SINK_KAFKA", allowed=True),),
    sources=(Source(name="kafka", tasks=8, unknown=None, records=dict.fromkeys("abcdefgh", 10), client={}),),
    slots=16,
    settings={"spark.master": "local[16]"},
)
REFUSED = replace(READY, findings=(finding("SINK_FILE", allowed=False),))


def topics(query: CheckedQuery, budget: timedelta | None = None) -> set[str]:
    return {advice.topic for advice in advise(query, budget)}


@pytest.mark.parametrize(
    ("queries", "outcome"),
    [
        ([READY], Outcome.READY),
        ([READY, READY], Outcome.READY),
        ([READY, READY, READY], Outcome.TOO_FEW_SLOTS),
        ([READY, REFUSED], Outcome.NOT_ELIGIBLE),
        ([READY, replace(REFUSED, real_time_ms=None)], Outcome.READY),
        ([replace(REFUSED, real_time_ms=None)], Outcome.NOT_ELIGIBLE),
        ([], Outcome.NOT_ELIGIBLE),
    ],
)
def test_the_outcome_is_about_the_queries_that_ask_for_real_time_mode(
    queries: list[CheckedQuery], outcome: Outcome
) -> None:
    report = Report(queries=queries)
    assert report.outcome is outcome
    assert json.loads(report.as_json())["outcome"] == outcome.name.lower()
    assert report.as_text().endswith(f"(exit code {outcome.value})\n")


@pytest.mark.parametrize(
    ("settings", "offered", "setting"),
    [
        ({"spark.master": "local[16]"}, 16, "--master local[34]"),
        ({"spark.master": "spark://host:7077"}, 16, "spark.cores.max=34"),
        (
            {"spark.master": "yarn", "spark.executor.instances": "5", "spark.executor.cores": "4"},
            20,
            "spark.executor.instances=9 with spark.executor.cores=4",
        ),
    ],
)
def test_too_few_slots_name_the_setting_with_headroom(settings: dict[str, str], offered: int, setting: str) -> None:
    wanted = size([replace(READY, shuffles=(20,), settings=settings)])
    assert (wanted.parts, wanted.offered, wanted.is_enough, wanted.setting) == ((8, 20), offered, False, setting)


def test_buffers_are_counted_at_both_ends_of_a_shuffle() -> None:
    """Eight partitions at 2 MiB and a producer; with a shuffle, 32 MiB for each task that sends or receives."""
    assert size([READY]).buffers_mib == 8 * 2 + 32
    assert size([replace(READY, shuffles=(20,))]).buffers_mib == (8 + 20) * 32 + 8 * 2 + 32


def test_memory_outside_of_the_heaps_is_that_of_the_stages_that_need_it() -> None:
    """A function before a shuffle of 20, a processor with state behind it: 8 and 20 workers, 20 stores."""
    wanted = replace(READY, shuffles=(20,), python_stages=(1, 0), state_stages=(1,))
    assert size([wanted]).workers_mib == (8 + 20) * 100
    assert size([wanted]).stores_mib == 20 * 136
    assert "up to 2800 MiB for Python workers and up to 2720 MiB for state stores" in Report(queries=[wanted]).as_text()
    assert "Python" not in Report(queries=[READY]).as_text()


@pytest.mark.parametrize(
    ("query", "budget_ms", "topic"),
    [
        (READY, None, "STATE_A_BUDGET"),
        (READY, 100, "USE_REAL_TIME"),
        (READY, 60_000, "STAY_IN_MICRO_BATCH"),
        (READY, 0.5, "BUDGET_TOO_TIGHT"),
        (REFUSED, 100, "STAY_IN_MICRO_BATCH"),
    ],
)
def test_the_budget_decides_on_the_mode(query: CheckedQuery, budget_ms: float | None, topic: str) -> None:
    assert topic in topics(query, None if budget_ms is None else timedelta(milliseconds=budget_ms))


HOT = replace(READY.sources[0], records={"hot": 97, "a": 1, "b": 1, "c": 1})


@pytest.mark.parametrize(
    ("query", "topic"),
    [
        (replace(READY, real_time_ms=None, trigger="ProcessingTimeTrigger"), "TRIGGER"),
        (replace(READY, commits_at_epoch_end="the query keeps state"), "COMMIT_INTERVAL"),
        (replace(READY, state=(State(operator="Aggregate", bounded=False),)), "STATE_GROWS"),
        (replace(READY, producer={"linger.ms": "5"}), "LINGER"),
        (
            replace(READY, sources=(replace(HOT, client={"fetch.min.bytes": "9", "fetch.max.wait.ms": "5"}),)),
            "FETCH_MIN_BYTES",
        ),
        (replace(READY, sources=(HOT,)), "HOT_PARTITION"),
        (replace(READY, tables=(11 * 1024**2,)), "LARGE_TABLE"),
        (replace(REFUSED, tables=(11 * 1024**2,)), "LARGE_TABLE"),
        (replace(READY, frozen_clock=True), "FROZEN_CLOCK"),
        (replace(READY, collectors=("Copy", "MarkSweepCompact")), "GARBAGE_COLLECTOR"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_likely_to_hurt_is_said(query: CheckedQuery, topic: str) -> None:
    assert topic in topics(query)
    assert topic not in topics(READY)


def test_several_queries_are_told_what_they_share() -> None:
    assert [advice.topic for advice in advise_together([READY, READY])] == ["SEVERAL_QUERIES"]
    assert advise_together([READY]) == ()


@pytest.mark.parametrize("topic", WORDING)
def test_every_piece_of_advice_leads_to_a_page(topic: str) -> None:
    path, _, anchor = WORDING[topic][1].partition("#")
    page = (DOCS / path).read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.+)$", page, re.MULTILINE)
    }
    assert not anchor or anchor in headings


@pytest.mark.parametrize("claim", measured.ALL, ids=lambda claim: f"{claim.engine} {claim.workload}")
def test_every_number_is_that_of_its_result_file(claim: measured.Measured) -> None:
    cells = json.loads((RESULTS / claim.result).read_text(encoding="utf-8"))["cells"]
    (cell,) = (cell for cell in cells if (cell["engine"], cell["workload"]) == (claim.engine, claim.workload))
    found = (cell["median"]["p50"], cell["median"]["p99"], cell["cpu_s_per_million"])
    assert (claim.p50_ms, claim.p99_ms, claim.cpu_s_per_million) == pytest.approx(found, rel=0.02)


def test_the_gaps_are_those_of_their_result_file() -> None:
    cells = json.loads((RESULTS / "where.json").read_text(encoding="utf-8"))["cells"]
    gaps = {cell["workload"]: cell["boundary"]["median"]["gap"] for cell in cells if cell["engine"] == "headrace"}
    claimed = {"stateless": measured.BOUNDARY_GAP_MS, "count": measured.BOUNDARY_GAP_STATE_MS}
    assert claimed == pytest.approx({workload: gaps[workload] for workload in claimed}, rel=0.02)


@pytest.mark.parametrize(("text", "milliseconds"), [("100 ms", 100), ("1.5s", 1500), ("2 minutes", 120_000)])
def test_a_budget_has_a_unit(text: str, milliseconds: int) -> None:
    parser = argparse.ArgumentParser()
    check.arguments(parser)
    assert parser.parse_args(["--budget", text]).budget == timedelta(milliseconds=milliseconds)


def test_a_budget_without_a_unit_is_refused() -> None:
    parser = argparse.ArgumentParser(exit_on_error=False)
    check.arguments(parser)
    with pytest.raises(argparse.ArgumentError):
        parser.parse_args(["--budget", "100"])
