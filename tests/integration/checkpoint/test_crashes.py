# SPDX-License-Identifier: Apache-2.0
"""A JVM that is killed in the middle of a commit leaves a checkpoint that goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.checkpoint.crashing_application import VALUES
from tests.integration.checkpoint.files import OURS, SETTING, SPARKS, names_in
from tests.integration.children import run_program
from tests.integration.streams import PATIENCE, start_real_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.local import Record
    from tests.integration.streams import Bench

SECONDS = 300
COMMIT = r"/commits/\.2\."
OFFSETS = r"/offsets/\.2\."
STATE = r"/state/0/0/\.3_[^/]*\.changelog\.[0-9a-f]{8}-"


@pytest.mark.timeout(SECONDS)
@pytest.mark.parametrize(
    ("file", "step", "after"),
    [
        pytest.param(OFFSETS, "publish data", OURS, id="offsets written but not named"),
        pytest.param(COMMIT, "replace sums", SPARKS, id="commit without its checksums", marks=pytest.mark.soak),
        pytest.param(COMMIT, "remove data", OURS, id="commit with both names", marks=pytest.mark.soak),
        pytest.param(STATE, "replace data", SPARKS, id="changes written but not named"),
    ],
)
def test_every_record_is_counted_once(
    bench: Bench, set_conf: Callable[[str, str], None], file: str, step: str, after: str
) -> None:
    """Whatever step of whatever file the kill hit, and whoever goes on."""
    source, sink = bench.kafka.topic("in"), bench.kafka.topic("out")
    arguments = (bench.kafka.bootstrap, source, sink, bench.checkpoint, json.dumps([file, step]))
    assert run_program("checkpoint.crashing_application", *arguments, seconds=SECONDS - 60) == {"exit": 137}
    left = [path.name for path in Path(bench.checkpoint).rglob(".*.tmp*")]
    assert left, "the kill came when nothing was being written"

    set_conf(SETTING, after)
    counts = bench.read(source).groupBy("value").count().selectExpr("value key", "cast(count as string) value")
    query = start_real_time(bench.write(counts, sink), "1 second")
    bench.kafka.produce(source, VALUES)
    rounds = len(bench.kafka.read(source)) // len(VALUES)

    def is_complete(records: list[Record]) -> bool:
        last = {record.key: record.value for record in records}
        return last == {value.encode(): str(rounds).encode() for value in VALUES}

    bench.kafka.read_until(sink, is_complete, timeout=PATIENCE)
    query.stop()
    assert {"0", "1"} <= set(names_in(Path(bench.checkpoint, "offsets")))
