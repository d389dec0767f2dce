# SPDX-License-Identifier: Apache-2.0
"""A Python worker is killed, as by kill -9, at each point of its life: nothing is lost."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd  # noqa: TC002 Spark looks the hints up
import pytest
from pyspark import cloudpickle
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

from headrace.testing import eventually
from tests.integration.streams import PATIENCE, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import Column

    from tests.integration.streams import Bench

pytestmark = [
    # Hints that have nothing to do with pandas or Arrow, and functions that say what they are without hints.
    pytest.mark.filterwarnings("ignore:Cannot infer the eval type from type hints"),
    pytest.mark.filterwarnings("ignore:In Python 3.6"),
]
# Workers cannot import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])
FIRST, MORE = [f"first {number}" for number in range(20)], [f"more {number}" for number in range(20)]


class Death:
    """Kills the worker that comes across it, once: the next one finds the mark of the first."""

    def __init__(self, mark: str) -> None:
        self._mark = mark

    def comes(self) -> None:
        if not os.path.exists(self._mark):  # noqa: PTH110 runs in the worker
            with open(self._mark, "w", encoding="utf-8"):  # noqa: PTH123
                os.kill(os.getpid(), signal.SIGKILL)


class DeathOnLoading(Death):
    """Comes when the function is unpickled."""

    def __setstate__(self, state: dict[str, str]) -> None:
        """Called for each copy that is made of it."""
        self.__dict__.update(state)
        self.comes()


def while_it_loads(mark: str) -> Callable[[Column], Column]:
    death = DeathOnLoading(mark)
    return F.udf(lambda value: (death, value)[1], "string")


def at_its_first_record(mark: str) -> Callable[[Column], Column]:
    death = Death(mark)

    def first(value: str) -> str:
        death.comes()
        return value

    return F.udf(first, "string")


def in_the_middle(mark: str) -> Callable[[Column], Column]:
    death = Death(mark)

    def middle(value: str) -> str:
        if value.startswith("more 7"):
            death.comes()
        return value

    return F.udf(middle, "string", useArrow=False)


def behind_an_answer(mark: str) -> Callable[[Column], Column]:
    """When it asks for the next batch."""
    death = Death(mark)

    def behind(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        for batch in batches:
            yield batch
            death.comes()

    return F.pandas_udf(behind, "string", F.PandasUDFType.SCALAR_ITER)


def at_the_end_of_an_epoch(mark: str) -> Callable[[Column], Column]:
    """When there is no further batch."""
    death = Death(mark)

    def end(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        yield from batches
        death.comes()

    return F.pandas_udf(end, "string", F.PandasUDFType.SCALAR_ITER)


LIVES = (while_it_loads, at_its_first_record, in_the_middle, behind_an_answer, at_the_end_of_an_epoch)


@pytest.mark.parametrize("point", LIVES, ids=lambda point: point.__name__)
def test_nothing_is_lost(bench: Bench, point: Callable[[str], Callable[[Column], Column]]) -> None:
    """The query fails and says so, without a further record; the next run goes on."""
    mark = f"{bench.checkpoint}-killed"
    source, sink = bench.kafka.topic("values", partitions=1), bench.kafka.topic("answers", partitions=1)
    rows = bench.read(source).select(point(mark)(F.col("value").cast("string")).alias("value"))
    query = start_real_time(bench.write(rows, sink), "1 second")
    bench.kafka.produce(source, FIRST + MORE)
    eventually(lambda: query.exception() is not None, PATIENCE)
    assert "PYTHON_WORKER_LOST" in str(query.exception())
    assert Path(mark).exists()
    query = start_real_time(bench.write(rows, sink), "1 second")
    bench.kafka.produce(source, ["last"])
    bench.kafka.read_until(sink, lambda records: b"last" in {record.value for record in records}, timeout=PATIENCE)
    query.stop()
    came = [value.decode() for value in bench.kafka.values(sink) if value is not None]
    assert list(dict.fromkeys(came)) == [*FIRST, *MORE, "last"]


def test_one_that_is_idle_is_missed_too(bench: Bench) -> None:
    """Killed from outside while it has nothing to do, it fails the query before the next record comes."""

    def who(value: str) -> str:
        return f"{os.getpid()} {value}"

    source, sink = bench.kafka.topic("values", partitions=1), bench.kafka.topic("answers", partitions=1)
    rows = bench.read(source).select(F.udf(who, "string")(F.col("value").cast("string")).alias("value"))
    query = start_real_time(bench.write(rows, sink))
    bench.kafka.produce(source, ["first"])
    (answer,) = bench.kafka.read_until(sink, 1, timeout=PATIENCE)
    assert answer.value is not None
    os.kill(int(answer.value.split()[0]), signal.SIGKILL)
    eventually(lambda: query.exception() is not None, PATIENCE)
    assert "PYTHON_WORKER_LOST" in str(query.exception())
