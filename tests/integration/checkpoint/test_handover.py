# SPDX-License-Identifier: Apache-2.0
"""A local checkpoint goes from Spark's own file manager and file system to ours and back, its state included."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.checkpoint.files import OURS, SETTING, SPARKS, unload_state
from tests.integration.modes.stock import run_stock
from tests.integration.streams import PATIENCE, await_epochs, failure_of, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming import DataStreamWriter

    from tests.integration.streams import Bench

VALUES = [f"value-{number}" for number in range(20)]
# What real-time mode wants of a checkpoint; a stranger who means to use it sets these too.
FORMAT = {
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}


def counting(bench: Bench, source: str, sink: str) -> DataStreamWriter:
    rows = bench.read(source).groupBy("value").count()
    return bench.write(rows.selectExpr("value AS key", "CAST(count AS STRING) AS value"), sink)


def run_ours(bench: Bench, source: str, sink: str, expected: int) -> None:
    query = start_real_time(counting(bench, source, sink), "1 second")
    bench.kafka.read_until(sink, expected, timeout=PATIENCE)
    # Two: the first may have been ending when the last record came.
    await_epochs(query, 2)
    query.stop()
    # In memory it is of no use: what is on the disk is looked at.
    unload_state(bench.spark)


def assert_counted(bench: Bench, sink: str, turns: int) -> None:
    """Each value was counted from one to the number of turns, and nothing twice."""
    results = Counter((record.key, record.value) for record in bench.kafka.read(sink))
    assert results == {(value.encode(), str(turn + 1).encode()): 1 for value in VALUES for turn in range(turns)}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("stock_begins", [True, pytest.param(False, marks=pytest.mark.soak)])
def test_plain_spark_and_we_take_turns(bench: Bench, stock_begins: bool) -> None:  # noqa: FBT001 either
    """Plain PySpark in a process of its own, which has never heard of us, and a real-time query with our settings."""
    source, sink = bench.kafka.topic("in"), bench.kafka.topic("out")
    for turn in range(3):
        bench.kafka.produce(source, VALUES)
        if (turn % 2 == 0) == stock_begins:
            run_stock(bench, source, sink, "count", FORMAT)
        else:
            run_ours(bench, source, sink, len(VALUES) * (turn + 1))
    assert_counted(bench, sink, turns=3)


def test_both_file_managers_take_turns_in_real_time(bench: Bench, set_conf: Callable[[str, str], None]) -> None:
    source, sink = bench.kafka.topic("in"), bench.kafka.topic("out")
    kinds = (OURS, SPARKS, OURS, SPARKS)
    for turn, kind in enumerate(kinds):
        set_conf(SETTING, kind)
        bench.kafka.produce(source, VALUES)
        run_ours(bench, source, sink, len(VALUES) * (turn + 1))
    assert_counted(bench, sink, turns=len(kinds))


def test_damaged_state_is_noticed(bench: Bench) -> None:
    """Spark's own checksums of state are compared, above our file manager as above Spark's."""
    source, sink = bench.kafka.topic("in"), bench.kafka.topic("out")
    bench.kafka.produce(source, VALUES)
    run_ours(bench, source, sink, len(VALUES))
    for path in Path(bench.checkpoint, "state").rglob("*.changelog"):
        path.write_bytes(path.read_bytes() + b"?")
    condition, _ = failure_of(start_real_time(counting(bench, source, sink), "1 second"))
    assert condition == "CHECKPOINT_FILE_CHECKSUM_VERIFICATION_FAILED"


def test_state_has_both_kinds_of_checksums(bench: Bench) -> None:
    """Spark's, which is on by default, above our file manager; and beside each file Hadoop's."""
    source, sink = bench.kafka.topic("in"), bench.kafka.topic("out")
    bench.kafka.produce(source, VALUES)
    run_ours(bench, source, sink, len(VALUES))
    assert bench.spark.conf.get("spark.sql.streaming.checkpoint.fileChecksum.enabled") == "true"
    changes = list(Path(bench.checkpoint, "state").rglob("*.changelog"))
    assert changes
    for path in changes:
        for name in (f"{path.name}.crc", f".{path.name}.crc", f".{path.name}.crc.crc"):
            assert path.with_name(name).exists()
    for log in ("offsets", "commits"):
        assert Path(bench.checkpoint, log, "0").exists()
        assert Path(bench.checkpoint, log, ".0.crc").exists()
