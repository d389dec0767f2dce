# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest

from headrace.observe.snapshot import Snapshot
from tests.unit.observe.documents import NOW_MS, document, query


def test_a_document_becomes_values() -> None:
    snapshot = Snapshot.read(document())
    (found,) = snapshot.queries
    assert snapshot.time_ms == NOW_MS
    assert (found.name, found.state, found.mode) == ("alerts", "running", "real-time")
    assert found.latency is not None
    assert found.latency.recent.end_to_end is not None
    assert found.latency.recent.end_to_end.p50 == pytest.approx(7.6)
    assert found.rate is not None
    assert (found.rate.read, found.rate.written) == (1003.4, 998.2)
    assert [stage.feeds for stage in found.stages] == [(1,), ()]
    assert found.slices[-1].read is not None
    assert len(found.slices) == 120


def test_what_was_not_measured_is_none_and_never_zero() -> None:
    bare = dict.fromkeys(query()) | {"run": "r", "state": "starting"}
    (found,) = Snapshot.read(document(bare)).queries
    assert (found.latency, found.rate, found.lag, found.epoch, found.dead_letters) == (None, None, None, None, None)
    assert (found.slices, found.stages, found.python) == ((), (), ())
    assert found.label == "r"


def test_what_a_newer_engine_adds_is_left_alone() -> None:
    assert Snapshot.read(document(query(invented={"a": 1}))).queries[0].name == "alerts"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (document(query(state=None)), "queries[0].state"),
        (document(query(rate={"in": "many", "out": 1})), "rate.in"),
        (document(query(tail="none")), "tail"),
        (json.dumps([]), "document"),
        ("no JSON", "Expecting value"),
    ],
)
def test_another_form_is_an_error_that_says_where(text: str, place: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        Snapshot.read(text)
    assert place in str(caught.value)
