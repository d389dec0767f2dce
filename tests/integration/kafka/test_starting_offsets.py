# SPDX-License-Identifier: Apache-2.0
"""Where reading begins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import IllegalArgumentException

from headrace.local import Record
from headrace.testing import eventually
from tests.integration.kafka.streams import CONTINUING, STREAMING, Mode, parameters

if TYPE_CHECKING:
    from headrace.testing import Kafka
    from tests.integration.kafka.streams import Options, Streams

ALL_MODES = pytest.mark.parametrize("mode", list(Mode), ids=lambda mode: mode.value)


@pytest.fixture(scope="module")
def topic(kafka: Kafka) -> str:
    """Two partitions with four records each; the time of a record is its offset in seconds, from 1000."""
    name = kafka.topic(partitions=2)
    for partition in range(2):
        kafka.produce(
            name,
            [
                Record(value=f"{partition}/{n}".encode(), partition=partition, timestamp_ms=1000 * (n + 1))
                for n in range(4)
            ],
        )
    return name


def values(first: int, second: int) -> set[bytes]:
    """Returns the values from these offsets on, of the first and of the second partition."""
    return {f"0/{n}".encode() for n in range(first, 4)} | {f"1/{n}".encode() for n in range(second, 4)}


@ALL_MODES
@pytest.mark.parametrize(
    ("offsets", "begin"),
    [
        pytest.param("earliest", (0, 0), id="earliest"),
        pytest.param({"0": 3, "1": -2}, (3, 0), id="json"),
    ],
)
def test_reading_starts_at_an_offset(
    streams: Streams, topic: str, mode: Mode, offsets: str | dict[str, int], begin: tuple[int, int]
):
    """Reading begins at the earliest record, or at an offset for each partition, with -2 for its earliest."""
    option = offsets if isinstance(offsets, str) else json.dumps({topic: offsets})
    expected = values(*begin)
    assert set(streams.values(mode, len(expected), subscribe=topic, startingOffsets=option)) == expected


@pytest.mark.parametrize("mode", CONTINUING, ids=lambda mode: mode.value)
@pytest.mark.parametrize("marked", [False, True], ids=["latest", "json"])
def test_reading_starts_at_the_end(streams: Streams, mode: Mode, *, marked: bool):
    """With latest, or -1 in the JSON, a stream reads only what comes after its start."""
    topic, out = streams.kafka.topic(), streams.kafka.topic("out")
    streams.kafka.produce(topic, ["old"] * 10)
    checkpoint = streams.checkpoint()
    offsets = json.dumps({topic: {"0": -1, "1": -1}}) if marked else "latest"
    sink: Options = {"topic": out, "checkpointLocation": checkpoint}
    query = streams.copy(sink, mode, subscribe=topic, startingOffsets=offsets)
    # Only then the beginning is settled.
    eventually((Path(checkpoint) / "sources" / "0" / "0").exists)
    streams.kafka.produce(topic, ["new"])
    assert [record.value for record in streams.wait_for(query, out, 1)] == [b"new"]


def test_streams_start_at_the_end_by_default(streams: Streams):
    """A stream that does not say where to begin begins at the end; what is there already is not read."""
    topic, out = streams.kafka.topic(), streams.kafka.topic("out")
    streams.kafka.produce(topic, ["old"] * 10)
    reader = streams.spark.readStream.format("kafka").options(subscribe=topic)
    rows = reader.option("kafka.bootstrap.servers", streams.kafka.bootstrap).load().select("value")
    streams.write(rows, Mode.AVAILABLE_NOW, topic=out)
    assert streams.kafka.read(out) == []


@ALL_MODES
@pytest.mark.parametrize("each", [False, True], ids=["for-all", "by-partition"])
def test_reading_starts_at_a_time(streams: Streams, topic: str, mode: Mode, *, each: bool):
    """Reading begins at the first record that is at least as new as the given time."""
    if each:
        options = {"startingOffsetsByTimestamp": json.dumps({topic: {"0": 3500, "1": 2000}})}
        expected = values(3, 1)
    else:
        options = {"startingTimestamp": "2001"}
        expected = values(2, 2)
    assert set(streams.values(mode, len(expected), subscribe=topic, **options)) == expected


def test_times_go_before_offsets(streams: Streams, topic: str):
    """Of several beginnings the one for all partitions counts, then times by partition, then offsets."""
    by_partition = json.dumps({topic: {"0": 4000, "1": 4000}})
    options = {"subscribe": topic, "startingOffsets": "earliest", "startingOffsetsByTimestamp": by_partition}
    assert set(streams.values(Mode.BATCH, 2, **options)) == values(3, 3)
    assert set(streams.values(Mode.BATCH, 4, **options, startingTimestamp="3000")) == values(2, 2)


@pytest.mark.parametrize("mode", STREAMING, ids=lambda mode: mode.value)
def test_a_time_after_the_last_record(streams: Streams, topic: str, mode: Mode):
    """A partition without a record that new is an error that names it, unless the strategy says to begin at its end."""
    query = streams.start(
        streams.read(mode, subscribe=topic, startingTimestamp="5000").select("value"), mode, topic=topic
    )
    failure = streams.failure(query)
    assert failure.condition == "KAFKA_NO_RECORD_AT_TIMESTAMP"
    assert failure.parameters["partition"] in {f"{topic}-0", f"{topic}-1"}
    times = json.dumps({topic: {"0": 5000, "1": 4000}})
    options = {"startingOffsetsByTimestamp": times, "startingOffsetsByTimestampStrategy": "latest"}
    assert set(streams.values(mode, 1, subscribe=topic, **options)) == values(4, 3)


@pytest.mark.parametrize(
    "offsets", [{"0": 0}, {"0": 0, "1": 0, "2": 0}, {"0": 0, "3": 0}], ids=["too-few", "too-many", "others"]
)
def test_offsets_must_name_each_partition(streams: Streams, topic: str, offsets: dict[str, int]):
    """Offsets by partition that do not name exactly the partitions that are read are an error."""
    with pytest.raises(IllegalArgumentException) as error:
        streams.read(Mode.BATCH, subscribe=topic, startingOffsets=json.dumps({topic: offsets})).collect()
    assert error.value.getCondition() == "KAFKA_OFFSETS_INCOMPLETE"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("startingOffsets", "latest"),
        ("startingOffsets", '{"TOPIC":{"0":0,"1":-1}}'),
        ("endingOffsets", "earliest"),
        ("endingOffsets", '{"TOPIC":{"0":1,"1":-2}}'),
    ],
)
def test_batch_reading_has_two_fixed_ends(streams: Streams, topic: str, name: str, value: str):
    """A batch read cannot begin at the end or end at the beginning; the option is named."""
    with pytest.raises(IllegalArgumentException) as error:
        streams.read(Mode.BATCH, subscribe=topic, **{name: value.replace("TOPIC", topic)})
    assert error.value.getCondition() == "KAFKA_OPTION_INVALID"
    assert parameters(error.value)["option"] == name


@pytest.mark.parametrize(
    ("end", "expected"),
    [({"0": 1, "1": -1}, values(0, 0) - values(1, 4)), ({"0": 4, "1": 0}, values(0, 4))],
    ids=["latest", "offset"],
)
def test_batch_reading_ends_at_an_offset(streams: Streams, topic: str, end: dict[str, int], expected: set[bytes]):
    """A batch read ends before the given offset of each partition, with -1 for its latest."""
    options = {"subscribe": topic, "endingOffsets": json.dumps({topic: end})}
    assert set(streams.values(Mode.BATCH, len(expected), **options)) == expected


def test_batch_reading_ends_at_a_time(streams: Streams, topic: str):
    """A batch read ends before the first record at least that new; where there is none, with the last record."""
    both = values(0, 0)
    assert set(streams.values(Mode.BATCH, 4, subscribe=topic, endingTimestamp="2500")) == both - values(2, 2)
    by_partition = json.dumps({topic: {"0": 2000, "1": 9000}})
    options = {"subscribe": topic, "endingOffsetsByTimestamp": by_partition, "endingOffsets": "latest"}
    assert set(streams.values(Mode.BATCH, 5, **options)) == both - values(1, 4)
    assert set(streams.values(Mode.BATCH, 2, **options, endingTimestamp="1001")) == both - values(1, 1)


def test_a_beginning_after_the_end_is_refused(streams: Streams, topic: str):
    """A batch read whose beginning lies after its end is an error that names the option."""
    options = {"startingOffsets": {"0": 3, "1": 0}, "endingOffsets": {"0": 2, "1": -1}}
    with pytest.raises(IllegalArgumentException) as error:
        streams.read(
            Mode.BATCH, subscribe=topic, **{name: json.dumps({topic: value}) for name, value in options.items()}
        ).collect()
    assert parameters(error.value)["option"] == "startingOffsets"
