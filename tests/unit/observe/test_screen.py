# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from io import StringIO

from rich.console import Console

from headrace.observe.screen import as_screen, duration
from headrace.observe.snapshot import Snapshot
from tests.unit.observe.documents import WRITE_FAILED, document, query


def shown(*queries: dict[str, object], width: int = 100) -> str:
    console = Console(file=StringIO(), width=width, highlight=False, markup=False, emoji=False)
    console.print(as_screen(Snapshot.read(document(*queries)), "app.py at http://127.0.0.1:7440/"))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_the_view_has_what_a_person_on_call_looks_for() -> None:
    text = shown()
    for words in ("fraud", "alerts  running", "7.6 ms", "queueing", "lag 12 records", "payments-5", "score", "3: 31%"):
        assert words in text


def test_numbers_are_whole_in_a_narrow_window() -> None:
    text = shown(width=80)
    assert "…" not in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_a_failed_query_says_why_and_what_to_do() -> None:
    text = shown(query(state="failed", ended_ms=1, error={"condition": "KAFKA_WRITE_FAILED", "message": WRITE_FAILED}))
    assert "alerts  failed" in text
    assert "start the query again." in " ".join(text.split())


def test_without_a_terminal_there_are_no_colours_and_never_commands_of_others() -> None:
    text = shown(query(name="\x1b[2Jevil [bold]"))
    assert "\x1b" not in text
    assert "evil [bold]" in text


def test_an_application_without_queries_says_so() -> None:
    console = Console(file=StringIO())
    console.print(as_screen(Snapshot.read(document(query(state="starting", latency=None, slices=[]))), ""))
    assert isinstance(console.file, StringIO)
    assert "starting" in console.file.getvalue()


def test_durations_are_as_people_read_them() -> None:
    assert [duration(ms) for ms in (None, 0.12, 4.26, 46.2, 1500, 90_000)] == [
        "-",
        "0.12 ms",
        "4.3 ms",
        "46 ms",
        "1.5 s",
        "1.5 min",
    ]
