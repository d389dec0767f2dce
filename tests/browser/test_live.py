# SPDX-License-Identifier: Apache-2.0
"""The page over a real application: `headrace run`, a real Spark, a real Kafka."""

from __future__ import annotations

import re
import subprocess
import urllib.request
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from headrace.dashboard.client import Client
from headrace.local.ports import free_ports
from headrace.observe.ladder import BOUNDS_MS
from headrace.testing import eventually
from tests.browser.running import HEADRACE, PATIENCE, Running
from tests.browser.shown import PATIENCE_MS, Shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.testing import Kafka

pytestmark = pytest.mark.timeout(300)

HOSTILE = "<script>document.title = 'taken over'</script>"


@pytest.fixture(scope="module")
def running(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One application for all tests; each starts queries of its own in it."""
    application = Running(kafka, tmp_path_factory.mktemp("application"))
    yield application
    application.end()


def test_it_follows_a_query_while_it_runs(running: Running, shown: Shown) -> None:
    copy = running.copy("followed")
    shown.open(running.address)
    shown.choose("followed")
    for number in range(3):
        # Each is seen before the next is sent: what the page shows is never older than a moment.
        running.kafka.produce(copy.source, [f"value {number}"])
        shown.await_text("#tail", f"value {number}")
    shown.await_text("#state", "running")
    shown.await_text("#verdict", "99 of 100 records take less than")
    shown.await_text("#facts", "real-time mode")
    expect(shown.panel("Python workers")).to_contain_text("screened", timeout=PATIENCE_MS)
    expect(shown.panel("Slowest partitions")).to_contain_text(f"{copy.source}-", timeout=PATIENCE_MS)
    expect(shown.panel("Executors")).to_contain_text("MB", timeout=PATIENCE_MS)
    assert shown.inked() > 0


def test_a_hostile_record_is_shown_as_text(running: Running, shown: Shown) -> None:
    copy = running.copy("hostile")
    shown.open(running.address)
    shown.choose("hostile")
    running.kafka.produce(copy.source, [HOSTILE])
    shown.await_text("#tail", HOSTILE)
    assert "taken over" not in shown.page.title()


def test_a_query_that_fails_says_why_and_one_that_is_started_again_runs(running: Running, shown: Shown) -> None:
    copy = running.copy("strict")
    shown.open(running.address)
    shown.choose("strict")
    running.kafka.produce(copy.source, ["good"])
    shown.await_text("#tail", "good")
    running.kafka.produce(copy.source, ["poison"])
    shown.await_text("#state", "failed")
    expect(shown.panel("It failed")).to_contain_text("PYTHON_FUNCTION_FAILED")
    expect(shown.panel("It failed")).to_contain_text("this is no value of mine")
    running.tell(asdict(replace(copy, strict=False)))
    shown.await_text("#state", "running")
    shown.await_text("#tail", "poison")
    expect(shown.panel("Errors of earlier runs")).to_contain_text("PYTHON_FUNCTION_FAILED")


def test_two_queries_each_have_their_view_and_a_stopped_one_says_so(running: Running, shown: Shown) -> None:
    one, other = running.copy("one"), running.copy("other")
    shown.open(running.address)
    shown.choose("one")
    running.kafka.produce(one.source, ["of one"])
    shown.await_text("#tail", "of one")
    shown.choose("other")
    running.kafka.produce(other.source, ["of the other"])
    shown.await_text("#tail", "of the other")
    assert "of one" not in shown.text("#tail")
    running.tell({"stop": "other"})
    shown.await_text("#state", "stopped")
    shown.choose("one")
    shown.await_text("#state", "running")


def test_the_terminal_and_prometheus_tell_the_same(running: Running) -> None:
    copy = running.copy("counted")
    running.kafka.produce(copy.source, [str(number) for number in range(50)])
    running.kafka.read_until(copy.sink, 50, timeout=PATIENCE)
    client = Client.parse(running.address)

    def counted() -> int:
        (query,) = [each for each in client.snapshot().queries if each.name == "counted"]
        total = None if query.latency is None else query.latency.total.end_to_end
        assert total is None or all(bound is None or bound in BOUNDS_MS for bound, _ in total.buckets)
        return 0 if total is None else total.count

    eventually(lambda: counted() == 50, PATIENCE)
    with urllib.request.urlopen(f"{running.address}metrics", timeout=20) as answer:  # noqa: S310 its own address
        text = answer.read().decode()
    sample = r'^headrace_latency_seconds_count\{.*name="counted",part="end_to_end"\} 50$'
    assert re.search(sample, text, re.MULTILINE)
    top = subprocess.run([*HEADRACE, "top", "--once"], check=True, capture_output=True, text=True, timeout=60)
    assert "counted  running" in top.stdout


def test_the_page_finds_a_supervised_application_again_after_its_jvm_was_killed(
    kafka: Kafka, tmp_path_factory: pytest.TempPathFactory, shown: Shown
) -> None:
    # A port of its own: an application of another test could take the usual one while this one is being restarted.
    (port,) = free_ports(1)
    application = Running(kafka, tmp_path_factory.mktemp("supervised"), "--supervise", "--dashboard", f":{port}")
    try:
        copy = application.copy("steady")
        shown.open(application.address)
        shown.choose("steady")
        kafka.produce(copy.source, ["before"])
        shown.await_text("#tail", "before")
        application.jvm().kill()
        shown.await_text("#connection-text", "what you see is from")
        expect(shown.page.locator("#connection-text")).to_have_text("live", timeout=2 * PATIENCE_MS)
        # The next run has to be told, too; it goes on at the checkpoint, and so it is the same query.
        application.tell(asdict(copy))
        kafka.produce(copy.source, ["after"])
        shown.await_text("#tail", "after")
        shown.await_text("#name", "steady")
    finally:
        application.end()
