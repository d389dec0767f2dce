# SPDX-License-Identifier: Apache-2.0
"""No process is started for the files of a checkpoint, neither when an epoch ends nor when state is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace.testing import eventually
from tests.integration.checkpoint.files import SETTING, SPARKS, unload_state
from tests.integration.probes import jvm_class
from tests.integration.streams import PATIENCE, Bench, await_epochs, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

EPOCHS = 3


def copies(rows: DataFrame) -> DataFrame:
    """No state."""
    return rows.select("key", "value")


def counts(rows: DataFrame) -> DataFrame:
    """A count by value."""
    return rows.groupBy("value").count().selectExpr("value AS key", "CAST(count AS STRING) AS value")


SHAPES = pytest.mark.parametrize("shape", [copies, counts])


def events_of(bench: Bench) -> Any:  # noqa: ANN401 what py4j hands out
    """Begins to watch the JVM."""
    return jvm_class(bench.spark, "headrace.probe.JvmEvents")()


def commands(events: Any) -> list[str]:  # noqa: ANN401 what py4j hands out
    """The processes that were started, by their command.

    Spark itself has `rm -rf` empty RocksDB's working folder, which is no part of the checkpoint, where it makes or
    loads a snapshot; and asks once in a JVM for the size of a page and the environment.
    """
    names = [Path(command.split()[0]).name for command in events.processes() if not command.startswith("rm -rf ")]
    return [name for name in names if name not in ("getconf", "env")]


def start(bench: Bench, shape: Callable[[DataFrame], DataFrame]) -> tuple[StreamingQuery, str]:
    source = bench.kafka.topic("in")
    bench.kafka.produce(source, ["a", "b"])
    query = start_real_time(bench.write(shape(bench.read(source)), bench.kafka.topic("out")), "1 second")
    return query, source


def run_epochs(bench: Bench, query: StreamingQuery, source: str) -> None:
    for _ in range(EPOCHS):
        bench.kafka.produce(source, ["a", "b"])
        await_epochs(query, 1)


@SHAPES
def test_no_process_is_started_for_an_epoch(bench: Bench, shape: Callable[[DataFrame], DataFrame]) -> None:
    """From the start of the query on."""
    events = events_of(bench)
    query, source = start(bench, shape)
    run_epochs(bench, query, source)
    query.stop()
    assert commands(events) == []


@SHAPES
def test_with_sparks_own_file_manager_many_are(
    bench: Bench, set_conf: Callable[[str, str], None], shape: Callable[[DataFrame], DataFrame]
) -> None:
    """The same look sees what the setting spares."""
    set_conf(SETTING, SPARKS)
    events = events_of(bench)
    query, source = start(bench, shape)
    run_epochs(bench, query, source)
    query.stop()
    assert len([command for command in commands(events) if command == "chmod"]) > 2 * EPOCHS


@pytest.fixture
def busy_maintenance(bench: Bench, set_conf: Callable[[str, str], None]) -> Iterator[None]:
    """Snapshots of state after every commit, instead of after ten and a minute."""
    unload_state(bench.spark)
    set_conf("spark.sql.streaming.stateStore.minDeltasForSnapshot", "1")
    set_conf("spark.sql.streaming.stateStore.maintenanceInterval", "200ms")
    yield
    # The thread that does it is the JVM's and keeps its interval; the next query starts another.
    unload_state(bench.spark)


# Spark's own `StateStore.stop`, which makes it forget its state, now and then waits for its maintenance for ever.
@pytest.mark.soak
@pytest.mark.usefixtures("busy_maintenance")
def test_none_is_started_for_a_snapshot_of_state_nor_to_load_it(bench: Bench) -> None:
    """Snapshots do not pass the file manager; Spark's file system for them is ours as well."""
    events = events_of(bench)
    query, source = start(bench, counts)
    state = Path(bench.checkpoint, "state", "0")
    eventually(lambda: list(state.glob("*/*.zip")) and list(state.glob("*/SSTs/*.sst")), PATIENCE)
    query.stop()
    unload_state(bench.spark)
    sink = bench.kafka.topic("out")
    query = start_real_time(bench.write(counts(bench.read(source)), sink), "1 second")
    before = len(bench.kafka.read(source))
    bench.kafka.produce(source, ["a"])
    # Every record has an answer, those that the first run did not commit perhaps two.
    bench.kafka.read_until(sink, lambda records: b"2" in {record.value for record in records}, timeout=PATIENCE)
    assert before > 0
    await_epochs(query, 1)
    query.stop()
    assert commands(events) == []
