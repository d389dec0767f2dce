# SPDX-License-Identifier: Apache-2.0
"""The guard looks at what the stream passes, in every session, and at nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import IllegalArgumentException
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it

from headrace.local import Record
from tests.integration.streams import PATIENCE, start_real_time

if TYPE_CHECKING:
    from tests.integration.streams import Bench


def test_other_sessions_of_the_application_are_guarded_too(bench: Bench) -> None:
    other = replace(bench, spark=bench.spark.newSession())
    writer = other.write(other.read(bench.kafka.topic()).orderBy("key"), bench.kafka.topic())
    with pytest.raises(IllegalArgumentException) as caught:
        start_real_time(writer)
    assert caught.value.getCondition() == "ORDER_BY"


@pytest.mark.usefixtures("few_partitions")
def test_a_static_table_may_be_made_in_any_way(bench: Bench) -> None:
    """Python, sorting, limits and shuffles beside the stream hold nothing up, and their tasks need no slots of it."""
    source, sink = bench.kafka.topic(), bench.kafka.topic()
    shout = F.udf(lambda name: name.upper(), "string", useArrow=False)
    people = bench.spark.createDataFrame([("a", "Anna"), ("b", "Bert"), ("b", "Bea")], "key string, name string")
    names = people.orderBy("name").limit(3).groupBy("key").agg(F.min(shout("name")).alias("value"))
    rows = bench.read(source).selectExpr("cast(key as string) key").join(F.broadcast(names), "key")
    bench.kafka.produce(source, [Record(key=b"a", value=None), Record(key=b"b", value=None)])
    start_real_time(bench.write(rows, sink))
    found = bench.kafka.read_until(sink, 2, timeout=PATIENCE)
    assert {record.key: record.value for record in found} == {b"a": b"ANNA", b"b": b"BEA"}
