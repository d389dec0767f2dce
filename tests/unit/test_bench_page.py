# SPDX-License-Identifier: Apache-2.0
"""The report of a benchmark as a page, with its plots."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from harness import palette, wording
from harness.page import as_page

if TYPE_CHECKING:
    from harness.palette import Theme
from tests.unit.bench_results import CANNOT, CLOSE, FASTER, FLINK, HEADRACE, RIVAL, found


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
