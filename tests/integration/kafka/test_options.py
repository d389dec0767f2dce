# SPDX-License-Identifier: Apache-2.0
"""Every option of Spark's Kafka guide is honoured, or refused by name with the reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import IllegalArgumentException

from tests.integration.kafka.options_table import APPLICATION, SINK, SOURCE, SOURCE_KAFKA, TOPIC, Option, Verdict
from tests.integration.kafka.streams import Mode, parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from _pytest.mark import ParameterSet
    from pyspark.sql import SparkSession

    from headrace.testing import Kafka
    from tests.integration.kafka.streams import Streams

STRATEGIES = ("assign", "subscribe", "subscribePattern")
MODES = (Mode.BATCH, Mode.MICRO_BATCH, Mode.REAL_TIME)
REFUSALS = {"KAFKA_OPTION_REFUSED", "KAFKA_OPTION_INVALID", "KAFKA_OPTION_MISSING"}
READING = (*SOURCE, *SOURCE_KAFKA)


def verdict(option: Option, mode: Mode) -> Verdict:
    return {Mode.BATCH: option.batch, Mode.MICRO_BATCH: option.micro_batch, Mode.REAL_TIME: option.real_time}[mode]


def refused(options: tuple[Option, ...]) -> list[ParameterSet]:
    return [
        pytest.param(option, mode, id=f"{option.name}-{mode.value}")
        for option in options
        for mode in MODES
        if verdict(option, mode) is Verdict.REFUSED
    ]


def wrong(options: tuple[Option, ...]) -> list[ParameterSet]:
    return [pytest.param(option.name, bad, id=f"{option.name}={bad}") for option in options for bad in option.bad]


@pytest.fixture(scope="module")
def topic(kafka: Kafka) -> str:
    return kafka.topic("walk", partitions=1)


def use(streams: Streams, mode: Mode, topic: str, source: dict[str, str], sink: dict[str, str]) -> None:
    """Reads and writes with such options, only as far as start() or save()."""
    subscription = {} if any(name in source for name in STRATEGIES) else {"subscribe": topic}
    rows = streams.read(mode, **subscription, **source).select("key", "value")
    query = streams.write(rows, mode, **({"topic": topic} | sink))
    if query is not None:
        query.stop()


def test_each_proof_exists():
    """The test that the table names for an option is there."""
    tests = {
        name
        for path in Path(__file__).parents[1].glob("*/test_*.py")
        for name in re.findall(r"def (\w+)", path.read_text())
    }
    proofs = {option.proof for option in (*READING, *SINK, *APPLICATION) if option.proof}
    assert proofs <= tests
    unproven = [o.name for o in (*READING, *SINK, *APPLICATION) if not o.proof and o.real_time is not Verdict.REFUSED]
    assert unproven == []


@pytest.mark.parametrize(("option", "mode"), refused(READING))
def test_a_refused_reading_option_is_named(streams: Streams, topic: str, option: Option, mode: Mode):
    """An option that cannot be honoured in a mode is an error in load() or start() that names it."""
    with pytest.raises(IllegalArgumentException) as error:
        use(streams, mode, topic, {option.name: option.good.replace(TOPIC, topic)}, {})
    assert error.value.getCondition() in REFUSALS
    assert parameters(error.value)["option"] == option.name


@pytest.mark.parametrize(("option", "mode"), refused(SINK))
def test_a_refused_writing_option_is_named(streams: Streams, topic: str, option: Option, mode: Mode):
    """The same for options of the sink, in start() or save()."""
    with pytest.raises(IllegalArgumentException) as error:
        use(streams, mode, topic, {}, {option.name: option.good})
    assert error.value.getCondition() in REFUSALS
    assert parameters(error.value)["option"] == option.name


@pytest.mark.parametrize(("option", "mode"), refused(APPLICATION))
def test_a_refused_setting_is_named(
    streams: Streams, topic: str, option: Option, mode: Mode, set_application: Callable[[str, str], None]
):
    """The same for settings of the application."""
    set_application(option.name, option.good)
    with pytest.raises(IllegalArgumentException) as error:
        use(streams, mode, topic, {}, {})
    assert error.value.getCondition() == "KAFKA_OPTION_REFUSED"
    assert parameters(error.value)["option"] == option.name


def test_tokens_can_be_switched_off(streams: Streams, topic: str, set_application: Callable[[str, str], None]):
    """Settings for delegation tokens do no harm in an application that has switched tokens off."""
    set_application("spark.kafka.clusters.main.auth.bootstrap.servers", "broker:9093")
    set_application("spark.security.credentials.kafka.enabled", "false")
    use(streams, Mode.BATCH, topic, {}, {})


@pytest.mark.parametrize(("name", "value"), wrong(READING))
def test_a_wrong_reading_value_is_named(streams: Streams, topic: str, name: str, value: str):
    """A value that nothing could be made of is an error that names the option, before anything is asked of a broker."""
    with pytest.raises(IllegalArgumentException) as error:
        use(streams, Mode.BATCH, topic, {name: value.replace(TOPIC, topic)}, {})
    assert error.value.getCondition() in REFUSALS
    assert parameters(error.value)["option"] == name


@pytest.mark.parametrize(("name", "value"), wrong(SINK))
def test_a_wrong_writing_value_is_named(streams: Streams, topic: str, name: str, value: str):
    """The same for the sink."""
    with pytest.raises(IllegalArgumentException) as error:
        use(streams, Mode.BATCH, topic, {}, {name: value})
    assert error.value.getCondition() in REFUSALS
    assert parameters(error.value)["option"] == name


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("option", ["kafka.bootstrap.servers", "subscribe"])
def test_what_to_read_must_be_said(streams: Streams, spark: SparkSession, topic: str, mode: Mode, option: str):
    """A reader without an address or without topics is refused, and the missing option is named."""
    given = {"kafka.bootstrap.servers": streams.kafka.bootstrap, "subscribe": topic}
    del given[option]
    reader = spark.read if mode is Mode.BATCH else spark.readStream
    with pytest.raises(IllegalArgumentException) as error:
        streams.write(reader.format("kafka").options(**given).load(), mode, topic=topic)
    assert error.value.getCondition() in REFUSALS
    assert parameters(error.value)["option"] == option


@pytest.mark.parametrize("second", ["subscribePattern", "assign"])
def test_only_one_way_to_name_topics(streams: Streams, topic: str, second: str):
    """Two of subscribe, subscribePattern and assign are refused."""
    with pytest.raises(IllegalArgumentException) as error:
        streams.read(subscribe=topic, **{second: "x"})
    assert parameters(error.value)["option"] == second


def test_option_names_ignore_case(streams: Streams, topic: str):
    """Spark ignores the case of option names, and so do we."""
    streams.kafka.produce(topic, ["found"])
    rows = streams.read(Mode.BATCH, SUBSCRIBE=topic, StartingOffsets="earliest", INCLUDEHEADERS="TRUE")
    assert "headers" in rows.columns
    assert b"found" in [row.value for row in rows.collect()]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_harmless_options_go_together(streams: Streams, mode: Mode):
    """A reader with every option that its mode does not refuse reads its records."""
    topic = streams.kafka.topic(partitions=1)
    streams.kafka.produce(topic, ["through"])
    excluded = {"assign", "subscribePattern", "kafka.bootstrap.servers", "kafka.group.id", "startingTimestamp"}
    options = {
        option.name: option.good.replace(TOPIC, topic)
        for option in READING
        if option.name not in excluded and verdict(option, mode) is not Verdict.REFUSED
    }
    assert streams.values(mode, 1, **options) == [b"through"]


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_harmless_sink_options_go_together(streams: Streams, mode: Mode):
    """A writer with every option that is not refused writes its records."""
    topic, out = streams.kafka.topic(), streams.kafka.topic("out")
    streams.kafka.produce(topic, ["through"])
    options = {
        option.name: option.good
        for option in SINK
        if option.name not in {"topic", "kafka.bootstrap.servers"} and verdict(option, mode) is not Verdict.REFUSED
    }
    query = streams.write(streams.read(mode, subscribe=topic).select("value"), mode, topic=out, **options)
    records = streams.wait_for(query, out, 1) if query else streams.kafka.read(out)
    assert [record.value for record in records] == [b"through"]
