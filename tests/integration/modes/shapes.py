# SPDX-License-Identifier: Apache-2.0
"""Everything Spark's real-time mode can do, as one table: how the query is built, and what must come out of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 as every PySpark program has it
from pyspark.sql.streaming import StatefulProcessor

from tests.integration.modes.orders import PARTITIONS, SCHEMA, Order, orders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql.streaming import StatefulProcessorHandle

    from headrace.local import Record

FIRST = orders(0, 60)
SECOND = orders(1000, 40)

# What came out: a comparison keeps as much of the order as the shape promises.
Result: TypeAlias = dict[Any, Any]
Pair: TypeAlias = "tuple[str, str]"


def by_partition(records: Iterable[tuple[int, Pair]]) -> Result:
    """Nothing moves between partitions: the records of each, in order."""
    lists: dict[int, list[Pair]] = defaultdict(list)
    for partition, pair in records:
        lists[partition].append(pair)
    return dict(lists)


def by_key(records: Iterable[tuple[int, Pair]]) -> Result:
    """A shuffle keeps the order of one key: the values of each."""
    lists: dict[str, list[str]] = defaultdict(list)
    for _, (key, value) in records:
        lists[key].append(value)
    return dict(lists)


def as_bag(records: Iterable[tuple[int, Pair]]) -> Result:
    """No order at all."""
    return dict(Counter(pair for _, pair in records))


def newest(records: Iterable[tuple[int, Pair]]) -> Result:
    """Update mode: how often a result is sent before its last value depends on the mode, the last value does not."""
    return {key: value for _, (key, value) in records}


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """A query and its result.

    Attributes:
        name: What users call it.
        build: Makes the query's rows (key, value and, if nothing moves between partitions, partition) of two inputs.
        expected: The records that must come out, as (partition, (key, value)).
        compare: What two results must have in common.
    """

    name: str
    build: Callable[[DataFrame, DataFrame], DataFrame]
    expected: Callable[[Sequence[Order], Sequence[Order]], Iterable[tuple[int, Pair]]]
    compare: Callable[[Iterable[tuple[int, Pair]]], Result] = by_partition

    def result_of(self, records: Iterable[Record]) -> Result:
        """What a topic holds, in the form in which it is compared."""
        return self.compare((known(r.partition), (known(r.key).decode(), known(r.value).decode())) for r in records)

    def expected_result(self) -> Result:
        """What must come out, in the same form."""
        return self.compare(self.expected(FIRST, SECOND))


def known(value: Any) -> Any:  # noqa: ANN401 only states that it is there
    """States that a value is there."""
    assert value is not None
    return value


def parsed(rows: DataFrame) -> DataFrame:
    """Records as columns, through from_json."""
    order = F.from_json(F.col("value").cast("string"), SCHEMA).alias("order")
    return rows.select("partition", order).select("partition", "order.*")


def out(rows: DataFrame, key: str, value: str, *more: str) -> DataFrame:
    """The columns that the sink writes."""
    return rows.selectExpr(f"cast({key} as string) key", f"cast({value} as string) value", *more)


def static_names(rows: DataFrame) -> DataFrame:
    """A small table beside the stream."""
    session: SparkSession = rows.sparkSession
    return session.createDataFrame([(f"card-{n}", f"owner {n}") for n in range(0, 7, 2)], "card string, owner string")


def windowed(rows: DataFrame, *window: str) -> DataFrame:
    """Orders per window and card."""
    counted = parsed(rows).withWatermark("at", "1 hour").groupBy(F.window("at", *window), "card").count()
    return out(counted, "concat(unix_timestamp(window.start), ' ', card)", "count")


def window_counts(found: Sequence[Order], length: int, step: int) -> dict[str, int]:
    """The same in plain Python."""
    counts: Counter[str] = Counter()
    for order in found:
        newest_start = order.at - order.at % step
        for start in range(newest_start, order.at - length, -step):
            counts[f"{start} {order.card}"] += 1
    return counts


def running_count(rows: DataFrame) -> DataFrame:
    """``transformWithState`` with a processor of the JVM."""
    session: Any = rows.sparkSession
    pairs = out(parsed(rows), "card", "id")
    return DataFrame(session._jvm.headrace.probe.RunningCount.of(pairs._jdf), session)


def python_count(rows: DataFrame) -> DataFrame:
    """The same with a processor in Python. It is made here, so that it travels as it is."""

    class Count(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self.count: Any = handle.getValueState("count", "n long")

        def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ANN401, ARG002, N802, N803
            count = self.count.get()[0] if self.count.exists() else 0
            for row in rows:
                count += 1
                yield Row(key=key[0], value=f"{count}:{row.value}")
            self.count.update((count,))

        def close(self) -> None:
            pass

    pairs = out(parsed(rows), "card", "id").groupBy("key")
    return pairs.transformWithState(Count(), "key string, value string", "update", "none")


def in_python(function: Callable[[Any], str], column: str) -> Column:
    """A column through a Python function; one without a name travels as it is."""
    return F.udf(function, "string")(column)


def numbered(found: Sequence[Order]) -> Iterable[tuple[int, Pair]]:
    """What that processor must say."""
    counts: Counter[str] = Counter()
    for order in found:
        counts[order.card] += 1
        yield 0, (order.card, f"{counts[order.card]}:{order.id}")


SHAPES = (
    Shape(
        name="projection",
        build=lambda first, _: out(first, "key", "upper(cast(value as string))", "partition"),
        expected=lambda first, _: ((o.partition, (o.card, o.as_json().upper())) for o in first),
    ),
    Shape(
        name="filter",
        build=lambda first, _: out(first.where("cast(key as string) <> 'card-3'"), "key", "offset", "partition"),
        expected=lambda first, _: (
            (o.partition, (o.card, str(offset)))
            for partition in range(PARTITIONS)
            for offset, o in enumerate(o for o in first if o.partition == partition)
            if o.card != "card-3"
        ),
    ),
    Shape(
        name="from_json",
        build=lambda first, _: out(parsed(first), "card", "amount + id", "partition"),
        expected=lambda first, _: ((o.partition, (o.card, str(o.amount + o.id))) for o in first),
    ),
    Shape(
        name="explode",
        build=lambda first, _: out(
            parsed(first).withColumn("tag", F.explode("tags")), "id", "concat(card, tag)", "partition"
        ),
        expected=lambda first, _: ((o.partition, (str(o.id), o.card + tag)) for o in first for tag in o.tags),
    ),
    Shape(
        name="Python function",
        build=lambda first, _: out(
            parsed(first).withColumn("text", in_python(lambda number: f"<{number}>", "id")), "card", "text", "partition"
        ),
        expected=lambda first, _: ((o.partition, (o.card, f"<{o.id}>")) for o in first),
    ),
    Shape(
        name="Python function behind an aggregation",
        build=lambda first, _: out(
            parsed(first).groupBy("card").count().withColumn("text", in_python(lambda count: f"<{count}>", "count")),
            *("card", "text"),
        ),
        expected=lambda first, _: ((0, (card, f"<{count}>")) for card, count in Counter(o.card for o in first).items()),
        compare=newest,
    ),
    Shape(
        name="Python processor",
        build=lambda first, _: python_count(first),
        expected=lambda first, _: numbered(first),
        compare=by_key,
    ),
    Shape(
        name="union",
        build=lambda first, second: out(
            parsed(first).union(parsed(second).withColumn("partition", F.col("partition") + PARTITIONS)),
            *("card", "id", "partition"),
        ),
        expected=lambda first, second: (
            (o.partition + after, (o.card, str(o.id)))
            for found, after in ((first, 0), (second, PARTITIONS))
            for o in found
        ),
    ),
    Shape(
        name="broadcast join",
        build=lambda first, _: out(
            parsed(first).join(F.broadcast(static_names(first)), "card"), "owner", "id", "partition"
        ),
        expected=lambda first, _: (
            (o.partition, (f"owner {o.card[-1]}", str(o.id))) for o in first if int(o.card[-1]) % 2 == 0
        ),
    ),
    Shape(
        name="repartition",
        build=lambda first, _: out(parsed(first).repartition(3), "card", "id"),
        expected=lambda first, _: ((0, (o.card, str(o.id))) for o in first),
        compare=as_bag,
    ),
    Shape(
        name="repartition by column",
        build=lambda first, _: out(parsed(first).repartition(3, "card"), "card", "id"),
        expected=lambda first, _: ((0, (o.card, str(o.id))) for o in first),
        compare=by_key,
    ),
    Shape(
        name="aggregation",
        build=lambda first, _: out(
            parsed(first)
            .groupBy("card")
            .agg(F.count("*").alias("n"), F.sum("amount").alias("s"), F.max("id").alias("m")),
            "card",
            "concat_ws(' ', n, s, m)",
        ),
        expected=lambda first, _: (
            (0, (card, f"{len(mine)} {sum(o.amount for o in mine)} {mine[-1].id}"))
            for card in {o.card for o in first}
            for mine in [[o for o in first if o.card == card]]
        ),
        compare=newest,
    ),
    Shape(
        name="aggregation of a union",
        build=lambda first, second: out(
            parsed(first).union(parsed(second)).groupBy("card").agg(F.sum("amount").alias("s")), "card", "s"
        ),
        expected=lambda first, second: (
            (0, (card, str(sum(o.amount for o in (*first, *second) if o.card == card))))
            for card in {o.card for o in first}
        ),
        compare=newest,
    ),
    Shape(
        name="tumbling window",
        build=lambda first, _: windowed(first, "10 seconds"),
        expected=lambda first, _: ((0, (key, str(n))) for key, n in window_counts(first, 10, 10).items()),
        compare=newest,
    ),
    Shape(
        name="sliding window",
        build=lambda first, _: windowed(first, "10 seconds", "5 seconds"),
        expected=lambda first, _: ((0, (key, str(n))) for key, n in window_counts(first, 10, 5).items()),
        compare=newest,
    ),
    Shape(
        name="dropDuplicates",
        build=lambda first, _: out(parsed(first).dropDuplicates(["card"]), "card", "'seen'"),
        expected=lambda first, _: ((0, (card, "seen")) for card in {o.card for o in first}),
        compare=as_bag,
    ),
    Shape(
        name="transformWithState",
        build=lambda first, _: running_count(first),
        expected=lambda first, _: numbered(first),
        compare=by_key,
    ),
)
