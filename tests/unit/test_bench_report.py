# SPDX-License-Identifier: Apache-2.0
"""What is measured is told: in the terminal, on a page, in the documentation; nothing is left out or made up."""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from engines.roster import ENGINES
from harness import curves, findings, palette, table, wording
from harness.contestant import MOST_FOREIGN_CPU, MOST_LATENESS_P99_MS
from harness.histogram import Histogram
from harness.page import as_page
from harness.ranking import FEWEST_WINDOWS, SURE_RATIO, rankings
from harness.sustained import BOUND_MS
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

if TYPE_CHECKING:
    from harness.findings import Findings
    from harness.palette import Theme

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
REASON = "[UDF] Python | <functions> are not supported\n  at line two"


def window(p99: float, *, usable: bool = True) -> dict[str, Any]:
    latencies = [p99 / 10] * 99 + [p99]
    return {
        "start": 1.0,
        "records": 100,
        "duplicates": 0,
        **dict.fromkeys(findings.POINTS, p99 / 10),
        "p99": p99,
        "max": p99,
        "histogram": Histogram.of_ms(latencies).encoded(),
        "series": [[0.0, p99], [0.1, p99 / 10]],
        "commits": [0.05],
        "generator_late_ms": {"p99": 0.3, "max": 2.0},
        "engine_cpu_s": 0.5,
        "harness_cpu_s": 0.2,
        "foreign_cpu": 0.02,
        "usable": usable,
    }


def cell(engine: str, *p99s: float, **differs: Any) -> dict[str, Any]:  # noqa: ANN401 any field of a cell
    windows = [window(p99) for p99 in p99s]
    middle = sorted(p99s)[len(p99s) // 2] if p99s else 0
    points = dict.fromkeys(findings.POINTS, middle / 10) | {"p99": middle, "max": middle}
    ends = {point: (min(w[point] for w in windows), max(w[point] for w in windows)) for point in points if windows}
    case = {"workload": "stateless", "rate": 1000, "size": 100, "keys": 1000, "partitions": 2, "checkpoint_ms": 5000}
    what = {
        "engine": engine,
        "title": f"The {engine}",
        "versions": {"it": "1.2"},
        "settings": {"a.b": "<c>"},
        "slots": 4,
    }
    how = {
        "window_s": 1.0,
        "warm_up_s": 1.0,
        "verdict": "measured",
        "why": "",
        "windows": windows,
        "cpu_s_per_million": 310.0,
    }
    return {**case, **what, **how, "median": points if p99s else {}, "spread": ends, **differs}


def result(*cells: dict[str, Any], when: str = "2026-11-16T02:30:00+00:00") -> dict[str, Any]:
    head = {"format": 1, "when": when, "commit": "abc1234", "command": "headrace bench --list", "machine": {"cpus": 2}}
    return {**head, "cells": list(cells), "rankings": rankings(cells)}


HEADRACE = cell("headrace", 2.0, 2.1, 2.2)
FLINK = cell("flink", 12.0, 12.6, 13.0)
CLOSE = cell("quix", 2.1, 2.2, 2.5)
CANNOT = cell("pyflink", verdict="cannot", why=REASON, cpu_s_per_million=None)
FASTER = cell("headrace", 1.0, 1.0, 1.0, rate=100)
RIVAL = cell("flink", 11.0, 11.0, 11.0, rate=100)


def found(*cells: dict[str, Any]) -> Findings:
    return findings.of_json(result(*cells))


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


@dataclass(frozen=True, slots=True)
class Picture:
    workload: str = "stateless"
    title: str = "A plot"
    words: str = 'what "it" shows'

    def svg(self, theme: Theme) -> bytes:
        return f"<svg xmlns='http://www.w3.org/2000/svg'><!-- {theme.name} --></svg>".encode()


class Page(HTMLParser):
    """Gathers what a browser would load, and checks that what is opened is closed."""

    EMPTY = frozenset({"meta", "br", "img", "source"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.EMPTY:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        self.loads += [value or "" for name, value in attrs if name in ("src", "srcset", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] and {"td", "th"} & set(self.open) and data.strip():
            self.rows[-1].append(data)


class TestPage:
    def test_every_cell_is_on_it(self) -> None:
        of = found(HEADRACE, FLINK, CLOSE, CANNOT, FASTER, RIVAL)
        parsed = Page(as_page(of, [Picture()]))
        assert not parsed.open
        for case in of.cases():
            for line in wording.rows(of, case):
                words = [line.title, *line.medians, *line.spreads, *line.ratios, line.cpu, line.slots, line.verdict]
                assert any(sorted(filter(None, words)) == sorted(shown) for shown in parsed.rows), line.title

    def test_it_needs_no_other_file_and_no_network(self) -> None:
        page = as_page(found(HEADRACE, CANNOT), [Picture()])
        assert {load.partition(",")[0] for load in Page(page).loads if not load.startswith("#")} == {
            "data:image/svg+xml;base64"
        }
        assert not re.search(r"https?:|@import|url\(|<script|<link", page)

    def test_a_plot_is_there_for_dark_screens_and_for_those_who_do_not_see_it(self) -> None:
        page = as_page(found(HEADRACE), [Picture()])
        assert page.count("data:image/svg+xml") == 2
        assert 'alt="what &quot;it&quot; shows"' in page

    def test_words_of_an_engine_are_not_read_as_html(self) -> None:
        page = as_page(found(HEADRACE, CANNOT), [])
        assert "Python | &lt;functions&gt; are not supported\n  at line two" in page
        assert "<functions>" not in page


def test_the_plots_show_every_engine_and_every_axis_that_was_measured() -> None:
    # Only here: matplotlib takes longer to load than all other tests of this file take.
    from harness.plots import plots  # noqa: PLC0415

    drawn = {plot.name: plot for plot in plots(found(HEADRACE, FLINK, CANNOT, FASTER, RIVAL))}
    assert set(drawn) == {f"stateless-{name}" for name in ("cdf", "time", "p99-by-rate", "cpu")}
    assert "The headrace p99 2.10 ms; The flink p99 12.6 ms" in drawn["stateless-cdf"].words
    assert drawn["stateless-p99-by-rate"].svg(palette.DARK).startswith(b"<?xml")
    assert len(drawn["stateless-time"].draw(palette.LIGHT).axes) == 2


class TestDocumentation:
    def test_the_tables_on_the_page_are_those_of_the_result_file(self) -> None:
        page = PAGE.read_text(encoding="utf-8")
        assert table.renewed(page, ROOT) == page, "run `python benchmarks/report.py --docs docs/benchmarks.md`"

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
