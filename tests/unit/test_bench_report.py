# SPDX-License-Identifier: Apache-2.0
"""What is measured is told: in the terminal, on a page, in the documentation; nothing is left out or made up."""

from __future__ import annotations

import io
import json
import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from engines.roster import ENGINES
from harness import curves, findings, table, wording
from harness.contestant import MOST_FOREIGN_CPU, MOST_LATENESS_P99_MS
from harness.histogram import Histogram
from harness.page import as_page
from harness.ranking import FEWEST_WINDOWS, SURE_RATIO
from harness.results import paged
from harness.sustained import BOUND_MS
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from tests.unit.bench_results import CANNOT, CLOSE, FASTER, FLINK, HEADRACE, RIVAL, cell, found, result, window

if TYPE_CHECKING:
    from harness.findings import Findings

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
TABLES = ROOT / "docs" / "reference" / "measurements.md"


def text(of: Findings) -> str:
    console = Console(file=io.StringIO())
    table.show(of, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def row(of: Findings, title: str) -> str:
    return next(line for line in text(of).splitlines() if line.startswith(title))


class TestTable:
    def test_a_row_holds_medians_ratios_costs_and_how_much_counts(self) -> None:
        assert row(found(HEADRACE, FLINK), "The flink").split() == [
            *("The", "flink", "1.26", "1.26", "12.6", "1.26", "12.6", "6.0×", "6.0×", "310", "4", "3", "windows")
        ]

    def test_below_a_row_is_the_spread_of_the_windows(self) -> None:
        lines = text(found(HEADRACE, FLINK)).splitlines()
        below = lines[next(n for n, line in enumerate(lines) if line.startswith("The flink")) + 1]
        assert below.split() == ["1.20–1.30", "1.20–1.30", "12.0–13.0", "1.20–1.30", "12.0–13.0"]

    def test_the_fastest_engine_stands_first_and_what_cannot_run_last(self) -> None:
        said = text(found(CANNOT, FLINK, HEADRACE))
        assert said.index("The headrace") < said.index("The flink") < said.index("The pyflink")

    def test_what_cannot_run_gives_its_reason_in_one_line_and_no_figures(self) -> None:
        fell_out = cell("quix", 3.0, verdict="cannot", why="after 1 windows: it died")
        said = text(found(HEADRACE, CANNOT, fell_out))
        assert "The pyflink cannot: [UDF] Python | <functions> are not supported\n" in re.sub(" +\n", "\n", said)
        assert "line two" not in said
        assert row(found(HEADRACE, fell_out), "The quix").split()[2:7] == [wording.NOTHING] * 5

    def test_windows_that_do_not_count_are_marked(self) -> None:
        spoilt = cell("flink", 3.0, windows=[window(3), window(9, usable=False)])
        company = cell("quix", 5.0, verdict="unusable", why="1 of 1 windows had company")
        said = text(found(HEADRACE, spoilt, company))
        assert "1 of 2 windows" in said
        assert "The quix unusable: 1 of 1 windows had company" in said

    def test_it_says_what_the_harness_costs(self) -> None:
        said = text(found(HEADRACE))
        assert "generator, consumer and checks used 0.20 processors; others used 2% of the machine, 2% at most." in said

    def test_cases_are_not_mixed(self) -> None:
        said = text(found(HEADRACE, FLINK, FASTER, RIVAL))
        assert "1,000 records/s, 100 B each, 1,000 keys, 2 partitions, checkpoints every 5 s" in said
        assert "p99: The headrace is faster than The flink (6.0×)" in said
        assert "p99: The headrace is faster than The flink (11×)" in said

    def test_without_headrace_there_are_no_ratios_to_it(self) -> None:
        assert "×" not in row(found(FLINK, CLOSE), "The flink")

    def test_the_highest_rate_and_the_recovery_are_told_once(self) -> None:
        trial = {
            "highest": {"rate": 25_000, "limit": "the engine", "bound_ms": 1000.0, "p50": 2.0, "p99": 420.0},
            "recovery": {"first_answer_s": 3.25, "caught_up_s": 12.5, "replayed": 4100, "lost": 0},
        }
        of = found(*(cell("flink", 12.0, rate=rate, **trial) for rate in (100, 1000)), HEADRACE)
        (line,) = [line for line in text(of).splitlines() if "25,000" in line]
        assert line.split() == [*("The", "flink", "25,000", "420", "the", "engine", "3.25", "12.5", "4,100", "0")]
        for told in (table.as_markdown(of), as_page(of, [])):
            assert told.count("25,000") == 1


class TestRankings:
    def test_only_what_is_certain_is_called_faster(self) -> None:
        of = found(HEADRACE, FLINK, CLOSE)
        words = wording.comparisons(of, of.cases()[0])
        assert words.certain == [f"{point}: The headrace is faster than The flink (6.0×)" for point in ("p50", "p99")]
        assert words.close == [f"{point}: The headrace may be faster than The quix (1.1×)" for point in ("p50", "p99")]
        assert words.rest == [f"{point}: The quix is faster than The flink (5.7×)" for point in ("p50", "p99")]

    def test_where_we_lose_it_says_so(self) -> None:
        of = found(HEADRACE, cell("hop", 0.5, 0.5, 0.5))
        assert "p99: The headrace is slower than The hop (4.2×)" in wording.comparisons(of, of.cases()[0]).certain

    def test_rivals_are_compared_if_nobody_else_ran(self) -> None:
        of = found(CLOSE, FLINK)
        assert "p99: The quix is faster than The flink (5.7×)" in wording.comparisons(of, of.cases()[0]).certain

    @settings(max_examples=20)
    @given(st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(0.1, 100)), unique_by=lambda pair: pair[0]))
    def test_every_pair_is_told_once(self, measured: list[tuple[str, float]]) -> None:
        of = found(HEADRACE, *(cell(name, p99, p99, p99) for name, p99 in measured))
        words = wording.comparisons(of, of.cases()[0])
        told = "\n".join(line for line in (*words.certain, *words.close, *words.rest) if line.startswith("p99"))
        certain = [one for one in of.rankings if one.point == "p99" and one.certain]
        ours = [one for one in of.rankings if one.point == "p99" and "headrace" in (one.faster, one.slower)]
        assert told.count("×)") == len({(one.faster, one.slower) for one in (*certain, *ours)})


class TestFiles:
    def test_of_two_files_the_newer_one_counts(self, tmp_path: Path) -> None:
        for name, when, p99 in (("new", "2026-11-17", 5.0), ("old", "2026-11-16", 9.0)):
            (tmp_path / name).write_text(json.dumps(result(cell("flink", p99), HEADRACE, when=when)))
        of = findings.read([tmp_path / "new", tmp_path / "old"])
        assert [cell.median["p99"] for cell in of.cells if cell.engine == "flink"] == [5.0]
        assert [one.ratio for one in of.rankings if one.point == "p99"] == [2.38]
        assert [run["when"] for run in of.runs] == ["2026-11-16", "2026-11-17"]

    def test_the_rounds_of_one_run_are_made_one(self) -> None:
        again = (cell("headrace", 8.0, 9.0, highest={"rate": 5}), cell("flink", verdict="cannot", why="it died"))
        of = found(HEADRACE, FLINK, *again)
        ours, flink = of.cells
        assert (ours.median["p99"], ours.spread["p99"], len(ours.windows)) == (2.2, (2.0, 9.0), 5)
        assert (ours.highest, ours.cpu_s_per_million) == ({"rate": 5}, 5000.0)
        assert (flink.verdict, flink.median["p99"]) == ("measured", 12.6)
        assert "The flink in another round: it died" in text(of)

    def test_the_files_of_a_folder_are_one_run(self, tmp_path: Path) -> None:
        for name, when, p99 in (("b", "2026-11-17", 5.0), ("a", "2026-11-18", 9.0)):
            (tmp_path / f"{name}.json").write_text(json.dumps(result(cell("flink", p99), HEADRACE, when=when)))
        of = findings.read([tmp_path])
        assert [cell.spread["p99"] for cell in of.cells if cell.engine == "flink"] == [(5.0, 9.0)]
        assert [run["when"] for run in of.runs] == ["2026-11-17"]

    def test_an_empty_folder_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(findings.UnreadableError, match="no result file"):
            findings.read([tmp_path])

    def test_one_slow_round_takes_certainty_away(self) -> None:
        assert any(one.certain for one in found(HEADRACE, FLINK).rankings)
        assert not any(one.certain for one in found(HEADRACE, FLINK, cell("headrace", 12.5)).rankings)

    @pytest.mark.parametrize("content", ["{", "[]", '{"format": 2}'])
    def test_another_file_is_refused_by_its_name(self, content: str, tmp_path: Path) -> None:
        path = tmp_path / "other.json"
        path.write_text(content)
        with pytest.raises(findings.UnreadableError, match=r"other\.json"):
            findings.read([path])


class TestFigures:
    @given(st.floats(0.05, 1e6))
    def test_a_figure_keeps_two_digits_at_least(self, number: float) -> None:
        said = float(wording.figure(number).replace(",", ""))
        assert said == pytest.approx(number, rel=0.1 if number < 1 else 0.006)

    @settings(max_examples=5)
    @given(st.lists(st.lists(st.floats(0.01, 1e5), min_size=1, max_size=30), min_size=1, max_size=4))
    def test_windows_are_merged_without_loss(self, windows: list[list[float]]) -> None:
        together = sorted(latency for latencies in windows for latency in latencies)
        curve = curves.distribution(tuple(Histogram.of_ms(latencies).encoded() for latencies in windows))
        (first, fastest), (last, slowest) = curve[0], curve[-1]
        assert [first, fastest] == pytest.approx([0, together[0]], rel=0.002, abs=0.001)
        assert [last, slowest] == pytest.approx(
            [curves.nines(1 - 1 / len(together)), together[-1]], rel=0.002, abs=0.001
        )
        assert curve == sorted(curve)

    @given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.001, 0.2)), max_size=12))
    def test_names_beside_lines_keep_their_order_and_distance(self, names: list[tuple[float, float]]) -> None:
        moved = curves.apart([place for place, _ in names], [size for _, size in names])
        ordered = sorted(zip(names, moved, strict=True), key=lambda pair: pair[0][0])
        for ((_, below), low), ((_, above), high) in pairwise(ordered):
            assert high - low >= (below + above) / 2 - 1e-9

    def test_names_that_do_not_meet_stay_where_they_are(self) -> None:
        assert curves.apart([0.9, 0.1, 0.5], [0.1, 0.2, 0.3]) == pytest.approx([0.9, 0.1, 0.5])


def test_a_result_file_has_a_line_for_each_window() -> None:
    lines = paged(result(HEADRACE, FLINK, CANNOT)).splitlines()
    windows = [json.loads(line.strip().rstrip(",")) for line in lines if '"histogram"' in line]
    assert windows == HEADRACE["windows"] + FLINK["windows"]
    assert max(len(line) for line in lines if '"histogram"' not in line) < 120
    read = json.loads("\n".join(lines))
    assert read == json.loads(json.dumps(result(HEADRACE, FLINK, CANNOT)))


class TestDocumentation:
    def test_the_tables_on_the_page_are_those_of_the_result_files(self) -> None:
        page = TABLES.read_text(encoding="utf-8")
        assert "<!-- results: " in page
        assert table.renewed(page, ROOT) == page, f"run `python benchmarks/report.py --docs {TABLES.relative_to(ROOT)}`"

    def test_the_page_says_of_every_engine_how_it_is_set_up(self) -> None:
        rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
        named = {name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])}
        assert named == set(ENGINES)

    def test_the_page_states_the_rules_that_the_harness_follows(self) -> None:
        page = " ".join(PAGE.read_text(encoding="utf-8").split())
        assert f"A window with more than {MOST_FOREIGN_CPU:.0%}".replace("%", " %") in page
        assert f"late by more than {MOST_LATENESS_P99_MS:g} ms at p99" in page
        assert f"at least {FEWEST_WINDOWS} of each, and the medians are at least {SURE_RATIO:g} times apart" in page
        assert f"until p99 leaves {BOUND_MS:g} ms" in page

    def test_a_table_is_made_where_the_page_asks_for_it(self, tmp_path: Path) -> None:
        (tmp_path / "r.json").write_text(json.dumps(result(HEADRACE, FLINK, CANNOT)))
        page = "before\n<!-- results: r.json -->\nold\n<!-- end -->\nbehind\n"
        made = table.renewed(page, tmp_path)
        assert made == table.renewed(made, tmp_path)
        assert made.startswith("before\n<!-- results: r.json -->\n")
        assert made.endswith("<!-- end -->\nbehind\n")
        assert "old" not in made
        assert "| **The headrace** | 0.21 (0.20–0.22) |" in made
        assert "- The pyflink cannot: \\[UDF\\] Python \\| \\<functions\\> are not supported\n" in made
        assert "- p99: The headrace is faster than The flink (6.0×)\n" in made
