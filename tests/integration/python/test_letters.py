# SPDX-License-Identifier: Apache-2.0
"""Dead letters: a record that breaks a function goes to another topic with its error, and the stream goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator  # noqa: TC003 PySpark reads the hints of functions
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

from headrace.local import Record
from headrace.testing import eventually
from tests.integration.python.functions import VECTORISED
from tests.integration.streams import PATIENCE, await_epochs, run_micro_batches, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import DataStreamWriter

    from tests.integration.streams import Bench

# Hints that have nothing to do with pandas or Arrow.
pytestmark = pytest.mark.filterwarnings("ignore:Cannot infer the eval type from type hints")

VALUES = [f"bad {number}" if number % 50 == 7 else f"fine {number}" for number in range(200)]
BAD = {value.encode() for value in VALUES if value.startswith("bad")}


def shouted(value: str) -> str:
    if value.startswith("bad"):
        message = f"cannot shout {value}"
        raise ValueError(message)
    return value.upper()


def shouted_series(values: pd.Series) -> pd.Series:
    return values.map(shouted)


def shouted_many(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
    for values in batches:
        yield shouted_series(values)


def shouted_arrow(values: pa.Array) -> pa.Array:
    return pa.array([shouted(value) for value in values.to_pylist()])


def shouted_frames(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        yield pd.DataFrame({"value": frame["text"].map(shouted)})


def shouted_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield pa.RecordBatch.from_arrays([shouted_arrow(batch["text"])], ["value"])


def with_text(records: DataFrame) -> DataFrame:
    return records.select(F.col("value").cast("string").alias("text"))


BY_ROW: dict[str, Callable[[DataFrame], DataFrame]] = {
    "udf": lambda rows: rows.select(F.udf(shouted)("text").alias("value")),
    "pickled udf": lambda rows: rows.select(F.udf(shouted, useArrow=False)("text").alias("value")),
    "two pickled ones": lambda rows: rows.select(
        F.udf(shouted, useArrow=False)("text").alias("value"), F.udf(len, "int", useArrow=False)("text").alias("n")
    ).select(F.when(F.col("n") > 0, F.col("value")).alias("value")),
    "one inside the other": lambda rows: rows.select(F.udf(str.strip)(F.udf(shouted)("text")).alias("value")),
    "an answer of the wrong type": lambda rows: rows.withColumn(
        "n", F.udf(lambda text: text if text.startswith("bad") else 1, "int")("text")
    ).select(F.when(F.col("n") > 0, F.upper("text")).alias("value")),
}
BY_BATCH: dict[str, Callable[[DataFrame], DataFrame]] = {
    "pandas_udf": lambda rows: rows.select(VECTORISED.pandas_udf(shouted_series, "string")("text").alias("value")),
    "pandas_udf, iterator": lambda rows: rows.select(
        VECTORISED.pandas_udf(shouted_many, "string")("text").alias("value")
    ),
    "arrow_udf": lambda rows: rows.select(VECTORISED.arrow_udf(shouted_arrow, "string")("text").alias("value")),
    "mapInPandas": lambda rows: rows.mapInPandas(shouted_frames, "value string"),
    "mapInArrow": lambda rows: rows.mapInArrow(shouted_batches, "value string"),
}


def with_letters(bench: Bench, rows: DataFrame, sink: str, letters: str) -> DataStreamWriter:
    return bench.write(rows, sink).option("deadLetterTopic", letters)


def values_of(records: list[Record]) -> list[bytes | None]:
    return [record.value for record in records]


def header(record: Record, name: str) -> str:
    value = dict(record.headers)[f"headrace.{name}"]
    assert value is not None
    return value.decode()


# Some share all of their code with another; for those there is `make soak`.
SHARED = ("two pickled ones", "one inside the other", "arrow_udf", "mapInPandas")


@pytest.mark.parametrize(
    "form", [pytest.param(form, marks=[pytest.mark.soak] * (form in SHARED)) for form in (*BY_ROW, *BY_BATCH)]
)
def test_records_that_break_a_function_become_letters(bench: Bench, form: str) -> None:
    source, sink, letters = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out"), bench.kafka.topic("dead")
    headers = (("trace", b"17"),)
    sent = [Record(key=b"k", value=value.encode(), headers=headers) for value in VALUES]
    bench.kafka.produce(source, sent)
    query = start_real_time(
        with_letters(bench, (BY_ROW | BY_BATCH)[form](with_text(bench.read(source))), sink, letters)
    )
    eventually(lambda: len(bench.kafka.read(sink)) + len(bench.kafka.read(letters)) >= len(VALUES), PATIENCE)
    # Alone in its batch, and nothing comes behind it.
    bench.kafka.produce(source, [Record(value=b"bad last")])
    bench.kafka.read_until(letters, lambda records: b"bad last" in values_of(records), timeout=PATIENCE)
    bench.kafka.produce(source, ["fine last"])
    bench.kafka.read_until(sink, lambda records: b"FINE LAST" in values_of(records), timeout=PATIENCE)
    query.stop()
    written = bench.kafka.read(letters)
    dead = {value for value in values_of(written) if value is not None}
    if form in BY_ROW:
        assert dead == {*BAD, b"bad last"}
    assert dead >= BAD
    fine = [value.encode().upper() for value in VALUES if value.encode() not in dead]
    assert values_of(bench.kafka.read(sink)) == [*fine, b"FINE LAST"]
    for letter in written:
        assert f"{header(letter, 'topic')}-{header(letter, 'partition')}" == f"{source}-0"
        assert letter.value == [*(record.value for record in sent), b"bad last"][int(header(letter, "offset"))]
        assert header(letter, "error").startswith("Traceback")
    first = next(letter for letter in written if letter.value == b"bad 7")
    assert first.key == b"k"
    assert first.headers[0] == headers[0]


def test_an_empty_answer_is_an_answer(bench: Bench, tmp_path: Path) -> None:
    """Rows that a function has filtered out are no letters when it fails later, however many they are."""
    source, sink, letters = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out"), bench.kafka.topic("dead")
    taken = tmp_path / "taken"

    def kept(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            texts = frame["text"]
            if "dull last" in set(texts):
                taken.touch()
            yield pd.DataFrame({"value": texts.map(shouted)[texts.str.startswith("keep")]})

    rows = with_text(bench.read(source)).mapInPandas(kept, "value string")
    query = start_real_time(with_letters(bench, rows, sink, letters))
    # More than may be without an answer.
    bench.kafka.produce(source, [*(f"dull {number}" for number in range(12_000)), "dull last"])
    eventually(taken.exists, PATIENCE)
    bench.kafka.produce(source, ["bad 1"])
    bench.kafka.read_until(letters, 1, timeout=PATIENCE)
    bench.kafka.produce(source, ["keep"])
    bench.kafka.read_until(sink, 1, timeout=PATIENCE)
    bench.kafka.produce(source, ["bad 2"])
    bench.kafka.read_until(letters, 2, timeout=PATIENCE)
    query.stop()
    assert bench.kafka.values(letters) == [b"bad 1", b"bad 2"]
    assert bench.kafka.values(sink) == [b"KEEP"]


def test_behind_a_shuffle_a_letter_holds_the_row(bench: Bench) -> None:
    source, sink, letters = bench.kafka.topic("in"), bench.kafka.topic("out"), bench.kafka.topic("dead")

    def picky(count: int) -> str:
        if count == 2:
            message = "two is too many"
            raise ValueError(message)
        return str(count)

    counts = bench.read(source).groupBy(F.col("key").cast("string").alias("card")).count()
    rows = counts.select("card", F.udf(picky)("count").alias("value")).select("value")
    query = start_real_time(with_letters(bench, rows, sink, letters))
    bench.kafka.produce(
        source, [Record(key=b"a", value=b"1"), Record(key=b"a", value=b"2"), Record(key=b"a", value=b"3")]
    )
    (letter,) = bench.kafka.read_until(letters, 1, timeout=PATIENCE)
    bench.kafka.read_until(sink, 2, timeout=PATIENCE)
    query.stop()
    assert bench.kafka.values(sink) == [b"1", b"3"]
    assert letter.value is not None
    row: dict[str, Any] = json.loads(letter.value)
    assert 2 in row.values(), row
    assert "two is too many" in header(letter, "error")
    assert header(letter, "function") == "picky"


def test_before_a_shuffle_letters_are_counted_with_the_epoch(bench: Bench) -> None:
    """They are acknowledged when the epoch ends, by a task that has no writer; and they are in the query's progress."""
    source, sink, letters = bench.kafka.topic("in"), bench.kafka.topic("out"), bench.kafka.topic("dead")
    shouts = with_text(bench.read(source)).select(F.udf(shouted)("text").alias("shout"))
    rows = shouts.groupBy("shout").count().select(F.col("shout").alias("value"))
    query = start_real_time(with_letters(bench, rows, sink, letters), "2 seconds")
    bench.kafka.produce(source, ["fine", "bad 1", "bad 2"])
    bench.kafka.read_until(letters, 2, timeout=PATIENCE)
    bench.kafka.read_until(sink, 1, timeout=PATIENCE)
    await_epochs(query, 1)
    eventually(
        lambda: query.lastProgress is not None and query.lastProgress.sink.metrics == {"deadLetters": "2"}, PATIENCE
    )
    query.stop()


def test_a_letter_that_cannot_be_written_fails_the_query(bench: Bench) -> None:
    """Else its record would be lost."""
    source, sink = bench.kafka.topic("in"), bench.kafka.topic("out")
    rows = with_text(bench.read(source)).select(F.udf(shouted)("text").alias("value"))
    query = start_real_time(with_letters(bench, rows, sink, "no such topic!"))
    bench.kafka.produce(source, ["bad"])
    eventually(lambda: query.exception() is not None, PATIENCE)
    assert "KAFKA_WRITE_FAILED" in str(query.exception())


def test_in_micro_batch_mode_a_function_that_fails_still_stops_the_query(bench: Bench) -> None:
    source, sink, letters = bench.kafka.topic("in"), bench.kafka.topic("out"), bench.kafka.topic("dead")
    bench.kafka.produce(source, ["bad"])
    rows = with_text(bench.read(source)).select(F.udf(shouted)("text").alias("value"))
    with pytest.raises(StreamingQueryException, match="cannot shout bad"):
        run_micro_batches(with_letters(bench, rows, sink, letters))
    assert bench.kafka.read(letters) == []


@pytest.mark.parametrize("use_arrow", [True, False], ids=["arrow", "pickled"])
def test_without_letters_the_error_names_the_very_record(bench: Bench, *, use_arrow: bool) -> None:
    """Also when it was sent to Python together with others."""
    source, sink = bench.kafka.topic("in", partitions=1), bench.kafka.topic("out")
    bench.kafka.produce(source, VALUES)
    rows = with_text(bench.read(source)).select(F.udf(shouted, useArrow=use_arrow)("text").alias("value"))
    query = start_real_time(bench.write(rows, sink))
    eventually(lambda: query.exception() is not None, PATIENCE)
    message = str(query.exception())
    assert f"Python function shouted failed on record {source}-0@7." in message
    assert "headrace: row" not in message
