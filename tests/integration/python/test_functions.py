# SPDX-License-Identifier: Apache-2.0
"""Python functions in real-time mode: the same answers as in micro-batch mode, each at once."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

from headrace.local import Record
from headrace.testing import eventually
from tests.integration.python.functions import FUNCTIONS
from tests.integration.streams import PATIENCE, await_epochs, run_micro_batches, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame

    from tests.integration.python.functions import Build
    from tests.integration.streams import Bench

# Hints that have nothing to do with pandas or Arrow.
pytestmark = pytest.mark.filterwarnings("ignore:Cannot infer the eval type from type hints")

PARTITIONS = 2
MOST_WORKERS = 30
VALUES = ["", "a", "bb", "ccc", "ünï", "x" * 300, "y" * 1_000_000, *(f"value {number}" for number in range(200))]
INPUT = [
    *(Record(key=f"key {number % 7}".encode(), value=value.encode()) for number, value in enumerate(VALUES)),
    Record(key=b"key 1", value=None),
]


def by_key(records: Iterable[Record]) -> dict[bytes | None, list[bytes | None]]:
    """The values of each key, in order; a key stays in its partition."""
    values = defaultdict(list)
    for record in records:
        values[record.key].append(record.value)
    return dict(values)


# Some share all of their code with another; for those there is `make soak`.
SHARED = ("every type, pickled", "between Spark's own", "arrow and pickled", "not deterministic", "named arguments")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.soak] * (name in SHARED)) for name in FUNCTIONS]
)
def test_real_time_and_micro_batch_give_the_same(bench: Bench, name: str) -> None:
    build: Build = FUNCTIONS[name]
    source = bench.kafka.topic("values", partitions=PARTITIONS)
    bench.kafka.produce(source, INPUT)
    micro, real = bench.kafka.topic("micro", partitions=PARTITIONS), bench.kafka.topic("real", partitions=PARTITIONS)
    run_micro_batches(replace(bench, checkpoint=f"{bench.checkpoint}-micro").write(build(bench.read(source)), micro))
    expected = bench.kafka.read(micro)
    assert expected
    query = start_real_time(bench.write(build(bench.read(source)), real))
    bench.kafka.read_until(real, len(expected), timeout=PATIENCE)
    # What a function of batches gives for each batch twice stands in another order when batches are smaller.
    ordered = (lambda lists: {key: sorted(values) for key, values in lists.items()}) if name == "mapInPandas" else dict
    assert ordered(by_key(bench.kafka.read(real))) == ordered(by_key(expected))
    query.stop()


@pytest.mark.parametrize("use_arrow", [True, False], ids=["arrow", "pickled"])
def test_times_are_those_of_the_sessions_time_zone(
    bench: Bench, set_conf: Callable[[str, str], None], *, use_arrow: bool
) -> None:
    """As in micro-batch mode, on both sides of a change of the clocks."""

    def told(at: dt.datetime) -> dt.datetime:
        return at + dt.timedelta(hours=1)

    set_conf("spark.sql.session.timeZone", "America/New_York")
    source, micro, real = (bench.kafka.topic(name, partitions=1) for name in ("times", "micro", "real"))
    # 2026-03-08 and 2026-11-01, around two at night.
    seconds = [1_772_951_400, 1_772_955_000, 1_793_511_000, 1_793_514_600, 1_793_518_200]
    bench.kafka.produce(source, [str(second) for second in seconds])

    def rows() -> DataFrame:
        at = F.timestamp_seconds(F.col("value").cast("string").cast("long"))
        later = F.udf(told, "timestamp", useArrow=use_arrow)(at)
        return bench.read(source).select(F.concat_ws(" ", at.cast("string"), later.cast("string")).alias("value"))

    run_micro_batches(replace(bench, checkpoint=f"{bench.checkpoint}-micro").write(rows(), micro))
    start_real_time(bench.write(rows(), real))
    bench.kafka.read_until(real, len(seconds), timeout=PATIENCE)
    assert bench.kafka.values(real) == bench.kafka.values(micro)


@pytest.mark.parametrize(
    "name", ["udf", "pickled udf", "pandas_udf", "arrow_udf", "pandas_udf, iterator", "mapInPandas", "mapInArrow"]
)
def test_each_record_is_answered_without_a_further_one(bench: Bench, name: str) -> None:
    """Nothing waits for company, for the next record or for the end of the epoch."""
    source, sink = bench.kafka.topic("values"), bench.kafka.topic("answers")
    query = start_real_time(bench.write(FUNCTIONS[name](bench.read(source)), sink))
    each = 2 if name == "mapInPandas" else 1
    for number in range(1, 6):
        bench.kafka.produce(source, [Record(key=b"key", value=f"value {number}".encode())])
        bench.kafka.read_until(sink, each * number, timeout=PATIENCE)
    query.stop()


@pytest.mark.parametrize("use_arrow", [True, False], ids=["arrow", "pickled"])
def test_a_broken_function_fails_the_query_with_its_traceback(bench: Bench, *, use_arrow: bool) -> None:
    """At once, without a further record; the error names the function and the record."""

    def broken(value: str) -> int:
        return 1 // (len(value) - 4)

    source, sink = bench.kafka.topic("values", partitions=1), bench.kafka.topic("answers")
    function = F.udf(broken, "long", useArrow=use_arrow)
    rows = bench.read(source).select("key", function(F.col("value").cast("string")).cast("string").alias("value"))
    query = start_real_time(bench.write(rows, sink))
    bench.kafka.produce(source, ["fine!"])
    bench.kafka.read_until(sink, 1, timeout=PATIENCE)
    bench.kafka.produce(source, ["four"])
    eventually(lambda: query.exception() is not None, PATIENCE)
    message = str(query.exception())
    assert "[PYTHON_FUNCTION_FAILED] Python function broken failed on record" in message
    assert f"{source}-0@1" in message
    assert "ZeroDivisionError" in message
    assert "in broken" in message


@pytest.mark.parametrize("use_arrow", [True, False], ids=["arrow", "pickled"])
def test_a_worker_that_dies_fails_the_query_and_nothing_is_lost(bench: Bench, *, use_arrow: bool) -> None:
    """At once, without a further record; the next start reads the record again."""

    def deadly(value: str) -> str:
        import os  # noqa: PLC0415 runs in the worker
        import signal  # noqa: PLC0415

        if value == "deadly" and not os.path.exists(mark):  # noqa: PTH110
            with open(mark, "w", encoding="utf-8"):  # noqa: PTH123
                os.kill(os.getpid(), signal.SIGKILL)
        return value

    mark = f"{bench.checkpoint}-killed"
    source, sink = bench.kafka.topic("values", partitions=1), bench.kafka.topic("answers")
    function = F.udf(deadly, "string", useArrow=use_arrow)
    rows = bench.read(source).select(function(F.col("value").cast("string")).alias("value"))
    query = start_real_time(bench.write(rows, sink))
    bench.kafka.produce(source, ["first"])
    bench.kafka.read_until(sink, 1, timeout=PATIENCE)
    bench.kafka.produce(source, ["deadly"])
    eventually(lambda: query.exception() is not None, PATIENCE)
    assert "[PYTHON_WORKER_LOST] The Python process that ran Python function deadly" in str(query.exception())
    assert f"{source}-0@1" in str(query.exception())
    query = start_real_time(bench.write(rows, sink))
    bench.kafka.produce(source, ["last"])
    bench.kafka.read_until(sink, lambda records: records[-1:] != [] and records[-1].value == b"last", timeout=PATIENCE)
    query.stop()
    assert set(bench.kafka.values(sink)) == {b"first", b"deadly", b"last"}


def test_a_function_that_hangs_fails_the_query(bench: Bench, set_conf: Callable[[str, str], None]) -> None:
    """When it has had a record for too long; a stream without records for as long is no reason."""

    def slow(value: str) -> str:
        import time  # noqa: PLC0415 runs in the worker

        time.sleep(600 if value == "slow" else 0)
        return value

    set_conf("spark.sql.execution.pyspark.udf.idleTimeoutSeconds", "2")
    set_conf("spark.sql.execution.pyspark.udf.killOnIdleTimeout", "true")
    source, sink = bench.kafka.topic("values", partitions=1), bench.kafka.topic("answers")
    rows = bench.read(source).select(F.udf(slow, "string")(F.col("value").cast("string")).alias("value"))
    query = start_real_time(bench.write(rows, sink), "5 seconds")
    bench.kafka.produce(source, ["first"])
    bench.kafka.read_until(sink, 1, timeout=PATIENCE)
    # Longer than the function may take, with nothing to do.
    await_epochs(query, 2)
    bench.kafka.produce(source, ["slow"])
    eventually(lambda: query.exception() is not None, PATIENCE)
    assert "[PYTHON_WORKER_HANGS] Python function slow gave no answer for 2 seconds" in str(query.exception())


@pytest.mark.parametrize("use_arrow", [True, False], ids=["arrow", "pickled"])
def test_workers_carry_our_part_and_outlive_epochs(bench: Bench, *, use_arrow: bool) -> None:
    """The next epoch finds the process of the last one, with the function as it was."""

    def who(_: object, calls: list[int] = []) -> str:  # noqa: B006 the list is what must survive
        import os  # noqa: PLC0415 runs in the worker
        import sys  # noqa: PLC0415

        # Two queries with the very same function share it.
        calls.append(use_arrow)
        return f"{os.getpid()} {'headrace_worker.prompt' in sys.modules} {len(calls)}"

    source, sink = bench.kafka.topic("values", partitions=1), bench.kafka.topic("answers")
    rows = bench.read(source).select(F.udf(who, "string", useArrow=use_arrow)("value").alias("value"))
    query = start_real_time(bench.write(rows, sink), "1 second")
    answers: list[str] = []
    # Other tests have left workers behind, and Spark takes them in turn.
    while not any(answer.endswith("True 2") for answer in answers) and len(answers) < MOST_WORKERS:
        bench.kafka.produce(source, ["a"])
        records = bench.kafka.read_until(sink, len(answers) + 1, timeout=PATIENCE)
        answers = [str(record.value, "utf-8") for record in records if record.value is not None]
        await_epochs(query, 1)
    query.stop()
    assert any(answer.endswith("True 2") for answer in answers), answers
    first = next(answer for answer in answers if answer.endswith("True 2")).split()[0]
    assert [answer for answer in answers if answer.startswith(first)] == [f"{first} True 1", f"{first} True 2"]
