# SPDX-License-Identifier: Apache-2.0
"""`headrace bench --app`: which output answers which input, and what can be said of that."""

from __future__ import annotations

import base64
import io

import pytest
from app.child import as_block
from app.clients import UntranslatableError, client_settings
from app.compare import show
from app.desk import MICRO_BATCH, REAL_TIME, Query
from app.figures import IN_TURN, LAST_BEFORE, measured
from app.matching import gaps_ms, in_turn, is_in_turn, last_before
from app.tap import Catch
from app.trial import Heard, NoResultError, Outcome
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

WINDOW = (100.0, 200.0)
ALWAYS = (0.0, 1e9)


def rounded(latencies: list[float]) -> list[float]:
    return sorted(round(latency, 3) for latency in latencies)


def outcome(mode: str, latency_s: float, *, every_s: float = 1.0, drop: int = 0, **catch: int) -> Outcome:
    """A query that answers one key after a fixed time, and every so many inputs not at all."""
    inputs = [(100 + number * every_s, b"key") for number in range(20)]
    kept = [created for number, (created, _) in enumerate(inputs) if not drop or number % drop]
    outputs = [(created + latency_s, b"key") for created in kept]
    trigger = {"realTime": "5 seconds"} if mode == REAL_TIME else {"processingTime": "0 seconds"}
    query = Query(number=0, name="a to b", client={}, sources={"a": {}}, sink="b", partitions=1, trigger=trigger)
    heard = Heard(query, Catch(inputs, outputs, **catch), 2)
    return Outcome(mode=mode, window=WINDOW, cpu={"engine_cpu_s": 1.0, "foreign_cpu": 0.0}, queries=[heard])


class TestInTurn:
    def test_an_output_answers_its_own_input_also_when_another_came_meanwhile(self) -> None:
        inputs = [(100.0, b"a"), (100.1, b"a"), (100.1, b"b")]
        outputs = [(100.3, b"a"), (100.35, b"b"), (100.4, b"a")]
        assert is_in_turn(inputs, outputs, 200)
        assert rounded(in_turn(inputs, outputs, WINDOW)) == [250, 300, 300]

    def test_inputs_outside_of_the_window_take_their_turn_but_are_not_counted(self) -> None:
        inputs = [(99.0, b"a"), (150.0, b"a"), (201.0, b"a")]
        outputs = [(150.5, b"a"), (151.0, b"a")]
        assert is_in_turn(inputs, outputs, 200)
        assert rounded(in_turn(inputs, outputs, WINDOW)) == [1000]

    def test_a_lost_input_or_a_further_output_is_no_turn(self) -> None:
        assert not is_in_turn([(100.0, b"a"), (101.0, b"a")], [(100.1, b"a")], 200)
        assert not is_in_turn([(100.0, b"a")], [(100.1, b"a"), (100.2, b"a")], 200)
        assert not is_in_turn([(100.0, b"a")], [(100.1, b"a"), (100.2, b"b")], 200)

    @given(st.lists(st.tuples(st.floats(0, 1e6), st.sampled_from([b"a", b"b", b"c"]))), st.floats(0, 10))
    def test_a_query_with_one_latency_has_that_latency(self, inputs: list[tuple[float, bytes]], late_s: float) -> None:
        outputs = [(created + late_s, key) for created, key in inputs]
        assert is_in_turn(inputs, outputs, 1e9)
        assert in_turn(inputs, outputs, ALWAYS) == pytest.approx([late_s * 1000] * len(inputs), abs=0.001)


class TestLastBefore:
    def test_dropped_inputs_do_not_count(self) -> None:
        inputs = [(100.0, b"a"), (110.0, b"a"), (110.0, b"b"), (120.0, b"a")]
        assert rounded(last_before(inputs, [(110.2, b"a"), (120.1, b"a")], WINDOW)) == [100, 200]

    def test_of_several_outputs_the_first_is_the_answer(self) -> None:
        assert rounded(last_before([(100.0, b"a")], [(100.3, b"a"), (100.2, b"a")], WINDOW)) == [200]

    def test_an_output_without_an_input_answers_nothing(self) -> None:
        assert last_before([(100.0, b"a")], [(99.0, b"a"), (101.0, b"b")], WINDOW) == []

    def test_an_answer_is_never_taken_for_a_later_one_than_it_is(self) -> None:
        """With the true latency of 1.5 gaps it says half a gap: too low, as it is documented, and never too high."""
        inputs = [(100.0 + number, b"a") for number in range(5)]
        assert set(rounded(last_before(inputs, [(at + 1.5, key) for at, key in inputs], WINDOW))) == {500}

    @given(st.lists(st.tuples(st.floats(0, 1e6), st.sampled_from([b"a", b"b"]))), st.floats(0, 10))
    def test_no_latency_is_too_high(self, inputs: list[tuple[float, bytes]], late_s: float) -> None:
        latencies = last_before(inputs, [(created + late_s, key) for created, key in inputs], ALWAYS)
        assert all(latency <= late_s * 1000 + 0.001 for latency in latencies)


def test_gaps_are_between_inputs_with_the_same_key() -> None:
    assert gaps_ms([(100.0, b"a"), (100.5, b"b"), (103.0, b"a"), (101.0, b"a")], WINDOW) == [1000, 2000]


class TestFigures:
    def test_pairs_are_matched_exactly_however_short_the_gaps(self) -> None:
        found = measured([outcome(MICRO_BATCH, 0.5, every_s=0.1), outcome(REAL_TIME, 0.005, every_s=0.1)])
        [query] = found["queries"]
        assert found["rule"] == IN_TURN
        assert query["notes"] == []
        assert query["gain"]["p50"] == pytest.approx(100, rel=0.01)
        assert {mode: (cell["records"], cell["inputs"]) for mode, cell in query["modes"].items()} == {
            MICRO_BATCH: (20, 20),
            REAL_TIME: (20, 20),
        }

    def test_one_mode_that_drops_inputs_sets_the_rule_for_both(self) -> None:
        found = measured([outcome(MICRO_BATCH, 0.2, drop=4), outcome(REAL_TIME, 0.002)])
        assert found["rule"] == LAST_BEFORE
        assert {mode: cell["records"] for mode, cell in found["queries"][0]["modes"].items()} == {
            MICRO_BATCH: 15,
            REAL_TIME: 20,
        }

    def test_gaps_that_are_too_short_are_told(self) -> None:
        found = measured([outcome(MICRO_BATCH, 0.55, every_s=0.1, drop=4), outcome(REAL_TIME, 0.001, every_s=0.1)])
        [note] = found["queries"][0]["notes"]
        assert note.startswith(MICRO_BATCH)
        assert "100 ms" in note

    @pytest.mark.parametrize(
        ("epoch", "count"), [("5 minutes", 1), ("100 seconds", 0), ("interval 1 day", 1), ("?", 0)]
    )
    def test_a_window_without_a_commit_is_told(self, epoch: str, count: int) -> None:
        real = outcome(REAL_TIME, 0.002)
        real.queries[0].query.trigger["realTime"] = epoch
        assert len(measured([real])["queries"][0]["notes"]) == count

    def test_a_refusal_is_a_result(self) -> None:
        refused = Outcome(mode=REAL_TIME, why_not="[RT_SINK] no such sink.")
        found = measured([outcome(MICRO_BATCH, 0.2), refused])
        assert found["queries"][0]["gain"] == {}
        console = Console(file=io.StringIO(), width=150)
        show(found, console)
        assert isinstance(console.file, io.StringIO)
        assert "real-time: cannot, because [RT_SINK] no such sink." in console.file.getvalue()

    def test_the_brokers_time_is_of_no_use(self) -> None:
        with pytest.raises(NoResultError, match="LogAppendTime"):
            measured([outcome(MICRO_BATCH, 0.2, stamped_by_broker=1)])

    @pytest.mark.parametrize("side", ["inputs", "outputs"])
    def test_records_without_keys_are_of_no_use(self, side: str) -> None:
        keyless = outcome(MICRO_BATCH, 0.2)
        getattr(keyless.queries[0].catch, side).clear()
        with pytest.raises(NoResultError, match="keys"):
            measured([keyless])

    def test_a_query_with_other_keys_cannot_be_matched(self) -> None:
        other = outcome(MICRO_BATCH, 0.2)
        other.queries[0].catch.outputs[:] = [(101.0, b"another")]
        with pytest.raises(NoResultError, match="key of an input"):
            measured([other])


class TestClients:
    def test_a_login_is_translated(self) -> None:
        password = base64.b64encode(b"made up").decode()
        jaas = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="{password}";'
        options = {
            "kafka.bootstrap.servers": "there:9092",
            "kafka.security.protocol": "SASL_SSL",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.jaas.config": jaas,
            "kafka.ssl.truststore.type": "PEM",
            "kafka.ssl.truststore.location": "ca.pem",
            "kafka.ssl.endpoint.identification.algorithm": "",
            "kafka.linger.ms": "5",
            "subscribe": "orders",
        }
        assert client_settings(options) == {
            "bootstrap.servers": "there:9092",
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.username": "ann",
            "sasl.password": password,
            "ssl.ca.location": "ca.pem",
            "ssl.endpoint.identification.algorithm": "none",
        }

    def test_what_has_no_counterpart_is_named(self) -> None:
        options = {"kafka.bootstrap.servers": "there:9092", "kafka.ssl.keystore.location": "keys.jks"}
        with pytest.raises(UntranslatableError, match=r"ssl\.keystore\.location"):
            client_settings(options)


@pytest.mark.parametrize(
    "told",
    [
        "[REFUSED] Not so.\nDo this.",
        "headrace.HeadraceException: [REFUSED] Not so.\nDo this.\n=== Streaming Query ===\nIdentifier: 1\n",
        "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [REFUSED] Not so.\n\nDo this.\n",
        "[REFUSED] Not so.\nDo this.\n\nJVM stacktrace:\njava.lang.Exception: at once",
    ],
)
def test_of_an_error_only_its_own_words_are_told(told: str) -> None:
    assert as_block(ValueError(told)) == "[REFUSED] Not so.\nDo this."
