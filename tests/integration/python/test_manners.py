# SPDX-License-Identifier: Apache-2.0
"""Functions that behave badly: they print whatever they like, crash, or take more memory than they may."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

from headrace.testing import eventually
from tests.integration.children import run_program
from tests.integration.streams import PATIENCE, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.testing import Kafka
    from tests.integration.streams import Bench

# Hints that have nothing to do with pandas or Arrow.
pytestmark = pytest.mark.filterwarnings("ignore:Cannot infer the eval type from type hints")

SECONDS = 150
VALUES = [f"value {number}" for number in range(20)]


@pytest.mark.parametrize("use_arrow", [True, False], ids=["arrow", "pickled"])
def test_what_a_function_prints_is_no_answer(bench: Bench, *, use_arrow: bool) -> None:
    """Text or garbage, to either stream, past Python's buffers or not."""

    def loud(value: str) -> str:
        import os  # noqa: PLC0415 runs in the worker

        print(value * 1000)
        for stream in (1, 2):
            os.write(stream, bytes(range(256)))
        return value

    source, sink = bench.kafka.topic("values", partitions=1), bench.kafka.topic("answers")
    function = F.udf(loud, "string", useArrow=use_arrow)
    query = start_real_time(
        bench.write(bench.read(source).select(function(F.col("value").cast("string")).alias("value")), sink)
    )
    bench.kafka.produce(source, VALUES)
    bench.kafka.read_until(sink, len(VALUES), timeout=PATIENCE)
    assert bench.kafka.values(sink) == [value.encode() for value in VALUES]
    assert query.exception() is None


def test_a_crash_tells_where_it_was(bench: Bench, set_conf: Callable[[str, str], None]) -> None:
    """With Spark's own setting for it, the message of a lost worker ends with Python's stack."""

    def crashing(value: str) -> str:
        import os  # noqa: PLC0415 runs in the worker
        import signal  # noqa: PLC0415

        os.kill(os.getpid(), signal.SIGSEGV)
        return value

    set_conf("spark.sql.execution.pyspark.udf.faulthandler.enabled", "true")
    source, sink = bench.kafka.topic("values", partitions=1), bench.kafka.topic("answers")
    rows = bench.read(source).select(F.udf(crashing, "string")(F.col("value").cast("string")).alias("value"))
    query = start_real_time(bench.write(rows, sink))
    bench.kafka.produce(source, ["one"])
    eventually(lambda: query.exception() is not None, PATIENCE)
    message = str(query.exception())
    assert "[PYTHON_WORKER_LOST] The Python process that ran Python function crashing" in message
    assert f"{source}-0@0" in message
    assert "Segmentation fault" in message
    assert "in crashing" in message


@pytest.mark.timeout(SECONDS)
def test_settings_of_workers_keep_their_meaning(kafka: Kafka, tmp_path: Path) -> None:
    """A worker that may not be used again is not; one that takes more memory than it may fails on that very record."""
    outcome = run_program(
        "python.limited_application", kafka.bootstrap, str(tmp_path / "checkpoint"), seconds=SECONDS - 10
    )
    assert outcome["workers"] == outcome["epochs"]
    assert "[PYTHON_FUNCTION_FAILED] Python function greedy failed on record" in outcome["error"]
    assert outcome["record"] in outcome["error"]
    assert "MemoryError" in outcome["error"]


@pytest.mark.parametrize(("is_local", "socket"), [("true", "local"), ("false", "TCP")])
def test_workers_are_reached_over_a_local_socket(kafka: Kafka, tmp_path: Path, is_local: str, socket: str) -> None:
    """Unless the user wants TCP; also where the folder for temporary files has too long a name for one, as on YARN."""
    temporary = tmp_path / ("long" * 20)
    temporary.mkdir()
    places = (str(tmp_path / "checkpoint"), str(temporary))
    outcome = run_program("python.socket_application", kafka.bootstrap, *places, is_local, seconds=SECONDS - 10)
    assert outcome == {"socket": socket, "answer": "1 one 1"}
