# SPDX-License-Identifier: Apache-2.0
"""`headrace.supervise`: a query of this process is started again from its checkpoint, unless that cannot help."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

import headrace
from headrace.errors import GaveUpError
from headrace.run.causes import cause_of
from tests.integration.streams import LONG, PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

    from tests.integration.streams import Bench


def writer_of(bench: Bench, function: Callable[[str], str], source: str, sink: str) -> DataStreamWriter:
    rows = bench.read(source).select(
        F.udf(function, "string", useArrow=False)(F.col("value").cast("string")).alias("value")
    )
    writer: DataStreamWriter = bench.write(rows, sink).trigger(realTime=LONG)  # type: ignore[call-overload] # PySpark's types lack it
    return writer


@pytest.fixture
def topics(bench: Bench) -> Iterator[tuple[str, str]]:
    yield bench.kafka.topic("in", partitions=1), bench.kafka.topic("out", partitions=1)
    for query in bench.spark.streams.active:
        query.stop()


def test_a_query_whose_worker_was_killed_goes_on(
    bench: Bench, topics: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    been_here = tmp_path / "been-here"

    def deadly_once(text: str) -> str:
        if text == "deadly" and not been_here.exists():
            been_here.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return text

    source, sink = topics
    bench.kafka.produce(source, ["a", "deadly", "b"])
    writer = writer_of(bench, deadly_once, source, sink)
    started: list[StreamingQuery] = []

    def start() -> StreamingQuery:
        started.append(writer.start())
        return started[-1]

    supervising = threading.Thread(target=headrace.supervise, args=(start,))
    supervising.start()
    bench.kafka.read_until(
        sink, lambda records: {r.value for r in records} == {b"a", b"deadly", b"b"}, timeout=PATIENCE
    )
    # One that is stopped is done.
    started[-1].stop()
    supervising.join()
    assert len(started) == 2
    said = capfd.readouterr().err
    assert "the query failed: [PYTHON_WORKER_LOST]" in said
    assert "restart 1 in " in said


def test_a_query_that_cannot_go_on_is_given_up(bench: Bench, topics: tuple[str, str]) -> None:
    source, sink = topics
    bench.kafka.produce(source, ["not a number"])
    with pytest.raises(GaveUpError, match="PYTHON_FUNCTION_FAILED") as raised:
        headrace.supervise(writer_of(bench, lambda text: str(int(text)), source, sink).start)
    assert "StreamingQueryException" in type(raised.value.__cause__).__name__


@pytest.mark.parametrize(
    ("error", "lasts"), [(ConnectionRefusedError, False), (ValueError, True)], ids=["a database is away", "a mistake"]
)
def test_the_function_of_foreach_batch_is_judged_by_what_it_raised(
    spark: SparkSession,
    error: type[Exception],
    lasts: bool,  # noqa: FBT001 a case
) -> None:
    def fail(_: DataFrame, __: int) -> None:
        raise error

    query = spark.readStream.format("rate").load().writeStream.foreachBatch(fail).start()
    with pytest.raises(StreamingQueryException) as raised:
        query.awaitTermination()
    # Whoever waits for it and whoever looks at it later get different errors of PySpark's.
    for seen in (raised.value, query.exception()):
        assert seen is not None
        assert (cause_of(seen).lasts is not None) is lasts


def test_what_cannot_be_started_is_given_up_too(bench: Bench, topics: tuple[str, str]) -> None:
    source, sink = topics
    writer = bench.write(bench.read(source).orderBy("value"), sink).trigger(realTime=LONG)  # type: ignore[call-overload]
    with pytest.raises(GaveUpError, match="ORDER_BY"):
        headrace.supervise(writer.start)
