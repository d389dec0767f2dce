# SPDX-License-Identifier: Apache-2.0
"""The page over documents made by hand: every state that a query can be in, and values that mean harm."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from headrace.testing import eventually
from tests.browser.shown import PATIENCE_MS, Shown
from tests.unit.observe.documents import FRAUD, TOTALS, WRITE_FAILED, document, query

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page

    Serve = Callable[[Callable[[], str | None]], str]

LIGHT, DARK = "rgb(243, 245, 246)", "rgb(13, 19, 23)"
HOSTILE = "<script>document.title = 'taken over'</script><img src=x onerror=\"document.title = 'taken over'\">"
FAILURE = {"condition": "KAFKA_WRITE_FAILED", "message": WRITE_FAILED}


def now() -> int:
    return int(time.time() * 1000)


def failed(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 any part of the document
    return query(now(), id=TOTALS, run="t", name="totals", state="failed", ended_ms=now(), error=FAILURE, **changes)


class TestARunningQuery:
    @pytest.fixture(autouse=True)
    def opened(self, shown: Shown, serve: Serve) -> None:
        shown.open(serve(lambda: document(query(now()), now_ms=now())))

    def test_it_says_how_fast_it_is_and_where_the_time_goes(self, shown: Shown) -> None:
        shown.await_text("#verdict", "99 of 100 records take less than 21 ms, end to end.")
        shown.await_text("#verdict", "The largest part of it is delivery: 41 %.")
        shown.await_text("#big", "7.6")
        assert "real-time mode · at-least-once" in shown.text("#facts")

    def test_every_part_has_what_it_is_for(self, shown: Shown) -> None:
        expect(shown.panel("Flow")).to_contain_text("12 records")
        expect(shown.panel("Slowest partitions")).to_contain_text("payments-5")
        expect(shown.panel("Python workers")).to_contain_text("score")
        expect(shown.panel("Executors")).to_contain_text("driver")
        expect(shown.panel("Output")).to_contain_text('"risk": 0.93')
        graph = shown.panel("Where the time goes")
        expect(graph.locator(".node")).to_have_count(4)
        expect(graph).to_contain_text("task 3 has 31 % of all rows")
        expect(graph.locator(".edge").nth(1)).to_contain_text("1,003 rows/s")

    def test_the_heat_map_is_drawn_and_can_be_read_with_the_keyboard(self, shown: Shown) -> None:
        eventually(lambda: shown.inked() > 5000)
        shown.page.locator("#heat").focus()
        for _ in range(4):
            shown.page.keyboard.press("ArrowLeft")
        shown.await_text("#heat-readout", "4 s ago: p50")

    def test_pictures_have_tables_for_those_who_do_not_see_them(self, shown: Shown) -> None:
        for picture, rows in (("heat", 12), ("graph", 4)):
            shown.page.locator(f"#{picture}-details summary").click()
            expect(shown.page.locator(f"#{picture}-table tbody tr")).to_have_count(rows)
        expect(shown.page.locator("#graph-table")).to_contain_text("BatchEvalPython score")
        words = shown.page.locator("#graph svg desc").text_content() or ""
        assert "Delivery: 3.1 ms, 41 % of the time" in words

    def test_it_keeps_the_rules_of_an_accessible_page(self, page: Page) -> None:
        """Landmarks, one heading of the first order, and a name for all that can be operated."""
        for role in ("banner", "main", "navigation", "status"):
            expect(page.get_by_role(role)).to_have_count(1)
        assert page.locator("h1").count() == 1
        nameless = page.evaluate(
            """() => [...document.querySelectorAll("a, button, select, [tabindex]:not([tabindex='-1'])")]
              .filter(each => each.checkVisibility() && !(each.textContent.trim() || each.ariaLabel
                || each.labels?.length || each.getAttribute("aria-labelledby"))).map(each => each.outerHTML)"""
        )
        assert nameless == []

    def test_its_words_can_be_read_in_both_colour_schemes(self, page: Page) -> None:
        """The contrast that WCAG asks for, AA: every text against the ground it stands on."""
        for scheme in ("light", "dark"):
            page.get_by_label("Colours").select_option(scheme)
            assert page.evaluate(FAINT) == []

    def test_colours_follow_the_system_until_somebody_chooses(self, shown: Shown, page: Page) -> None:
        assert shown.ground() == LIGHT
        page.emulate_media(color_scheme="dark")
        eventually(lambda: shown.ground() == DARK)
        page.get_by_label("Colours").select_option("light")
        assert shown.ground() == LIGHT
        page.reload()
        shown.await_live()
        assert shown.ground() == LIGHT

    def test_nothing_is_cut_off_in_a_narrow_window(self, page: Page, shown: Shown) -> None:
        page.set_viewport_size({"width": 390, "height": 800})
        eventually(lambda: page.evaluate("document.documentElement.scrollWidth <= innerWidth"))
        eventually(lambda: shown.inked() > 1000)

    def test_the_output_stands_still_when_it_is_told_to(self, shown: Shown, page: Page) -> None:
        page.get_by_role("button", name="Pause").click()
        before = shown.text("#tail")
        facts = shown.text("#big"), page.evaluate("performance.now()")
        page.wait_for_function("from => performance.now() > from + 2500", arg=facts[1])
        assert shown.text("#tail") == before
        page.get_by_role("button", name="Go on").click()
        eventually(lambda: shown.text("#tail") != before)


FAINT = """() => {
  const parse = colour => colour.match(/[\\d.]+/g).map(Number);
  const linear = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => [r, g, b].map(v => linear(v / 255))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const texts = [...document.querySelectorAll("body *")].filter(each => !each.closest("svg, .hidden, noscript, .skip")
    && each.checkVisibility() && [...each.childNodes].some(node => node.nodeType === 3 && node.data.trim()));
  return texts.filter(each => {
    const [one, other] = [light(parse(getComputedStyle(each).color)), light(ground(each))].sort((a, b) => b - a);
    return (one + 0.05) / (other + 0.05) < 4.5;
  }).map(each => each.outerHTML);
}"""


def test_a_failed_query_says_what_happened_and_what_to_do(shown: Shown, serve: Serve) -> None:
    shown.open(serve(lambda: document(failed(), now_ms=now())))
    shown.await_text("#state", "failed")
    panel = shown.panel("It failed")
    expect(panel.locator(".condition")).to_have_text("KAFKA_WRITE_FAILED")
    expect(panel.locator(".message")).to_contain_text("Epoch 41 is not committed")
    expect(panel.locator(".remedy")).to_have_text(
        "Check the brokers, the topic and the sink's kafka.* options, then start the query again."
    )
    shown.await_text("#queries", "failed")


def test_a_stopped_query_says_so(shown: Shown, serve: Serve) -> None:
    shown.open(serve(lambda: document(query(now(), state="stopped", ended_ms=now(), rate=None, lag=None))))
    shown.await_text("#state", "stopped")
    shown.await_text("#verdict", "It was stopped.")
    expect(shown.page.locator("#errors")).to_be_hidden()


def test_each_query_has_its_own_view_with_its_own_address(shown: Shown, serve: Serve) -> None:
    address = serve(lambda: document(query(now()), failed(), now_ms=now()))
    shown.open(address)
    shown.choose("totals")
    assert shown.page.url == f"{address}#query={TOTALS}"
    shown.await_text("#state", "failed")
    shown.open(f"{address}#query={FRAUD}")
    shown.await_text("#name", "alerts")
    shown.page.go_back()
    shown.await_text("#name", "totals")


def test_pressure_is_said_in_words_too(shown: Shown, serve: Serve) -> None:
    stages = query()["stages"]
    stages[0]["queue"] = 0.9
    shown.open(serve(lambda: document(query(now(), stages=stages))))
    shown.await_text("#verdict", "Pressure builds: the buffers behind Kafka payments → filter, project are filling up.")
    shown.await_text("#graph", "pressure: buffers fill up")


def test_what_was_not_measured_is_a_dash(shown: Shown, serve: Serve) -> None:
    bare = dict.fromkeys(query()) | {"run": "r", "state": "starting", "slices": [], "latency": None}
    shown.open(serve(lambda: document(bare)))
    shown.await_text("#verdict", "It is starting; nothing has been read yet.")
    shown.await_text("#big", "–")


def test_an_application_without_queries_says_so(shown: Shown, serve: Serve) -> None:
    empty = json.dumps({"time_ms": 1, "application": None, "queries": [], "executors": []})
    shown.open(serve(lambda: empty))
    expect(shown.page.get_by_text("No query has been started yet.")).to_be_visible()


@pytest.mark.parametrize("place", ["value", "key", "topic"])
def test_a_hostile_record_is_shown_as_text(shown: Shown, serve: Serve, place: str) -> None:
    record = {"time_ms": now(), "topic": "alerts", "key": "k", "value": "v", place: HOSTILE}
    shown.open(serve(lambda: document(query(now(), tail=[record], name=HOSTILE))))
    expect(shown.panel("Output")).to_contain_text(HOSTILE, timeout=PATIENCE_MS)
    shown.await_text("#name", HOSTILE)
    assert shown.page.locator("main script, main img").count() == 0
    assert "taken over" not in shown.page.title().replace(HOSTILE, "")


def test_a_query_that_was_started_again_is_one_query_with_its_past(shown: Shown, serve: Serve) -> None:
    runs = [failed()]
    shown.open(serve(lambda: document(*runs, now_ms=now())))
    shown.await_text("#state", "failed")
    runs.append(query(now(), id=TOTALS, run="u", name="totals", started_ms=now()))
    shown.await_text("#state", "running")
    expect(shown.page.locator("#queries li")).to_have_count(1)
    expect(shown.panel("Errors of earlier runs")).to_contain_text("KAFKA_WRITE_FAILED")
    expect(shown.page.get_by_role("status")).to_have_text("totals is running")


def test_a_spark_that_does_not_answer_is_said_and_the_last_picture_stays(shown: Shown, serve: Serve) -> None:
    answers = [document(query(now()))]
    shown.open(serve(lambda: answers[-1]))
    shown.await_text("#name", "alerts")
    answers.append(None)  # type: ignore[arg-type] # as from an engine that is gone
    shown.await_text("#connection-text", "Spark does not answer; what you see is from")
    shown.await_text("#name", "alerts")
