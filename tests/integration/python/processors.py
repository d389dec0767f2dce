# SPDX-License-Identifier: Apache-2.0
"""Stateful processors as users write them; none knows in which mode it runs."""

from __future__ import annotations

import decimal
import sys
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql.streaming import StatefulProcessorHandle

OUTPUT = "key string, value string"


class Running(StatefulProcessor):
    """Value, list and map state of a key, after each of its rows."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count: Any = handle.getValueState("count", "count long")
        self.latest = handle.getListState("latest", "text string")
        self.words: Any = handle.getMapState("words", "word string", "times long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ANN401, ARG002, N802, N803
        for row in rows:
            count = (self.count.get()[0] if self.count.exists() else 0) + 1
            self.count.update((count,))
            latest = [text for (text,) in self.latest.get()][-2:] if self.latest.exists() else []
            self.latest.put([(text,) for text in [*latest, row.text]])
            times = self.words.getValue((row.text,))[0] + 1 if self.words.containsKey((row.text,)) else 1
            self.words.updateValue((row.text,), (times,))
            yield Row(key=key[0], value=f"{count} {'|'.join([*latest, row.text])} {times}")

    def close(self) -> None:
        pass


class Totals(StatefulProcessor):
    """How often a key came, with pandas."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count: Any = handle.getValueState("count", "count long")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: ANN401, ARG002, N802, N803
        count = self.count.get()[0] if self.count.exists() else 0
        for frame in rows:
            numbers = range(count + 1, count + 1 + len(frame))
            count += len(frame)
            yield pd.DataFrame(
                {
                    "key": key[0],
                    "value": [f"{number} {text}" for number, text in zip(numbers, frame["text"], strict=True)],
                }
            )
        self.count.update((count,))

    def close(self) -> None:
        pass


class Alarm(StatefulProcessor):
    """Answers a key once, some time after its first row."""

    DELAY_MS = 300

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.text: Any = handle.getValueState("text", "text string")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ANN401, ARG002, N802, N803
        for row in rows:
            if not self.text.exists():
                self.handle.registerTimer(timerValues.getCurrentProcessingTimeInMs() + self.DELAY_MS)
            self.text.update((row.text,))
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: ANN401, N802, N803
        late = timerValues.getCurrentProcessingTimeInMs() - expiredTimerInfo.getExpiryTimeInMs()
        yield Row(key=key[0], value=f"{self.text.get()[0]} {late}")
        self.text.clear()

    def close(self) -> None:
        pass


class Closing(StatefulProcessor):
    """Answers a key once, when the watermark has passed the time of its first row by ten seconds."""

    DELAY_MS = 10_000

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.count: Any = handle.getValueState("count", "count long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ANN401, ARG002, N802, N803
        for row in rows:
            count = self.count.get()[0] if self.count.exists() else 0
            if count == 0:
                self.handle.registerTimer(int(row.at.timestamp() * 1000) + self.DELAY_MS)
            self.count.update((count + 1,))
        return iter(())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:  # noqa: ANN401, ARG002, N802, N803
        yield Row(key=key[0], value=f"{self.count.get()[0]} until {expiredTimerInfo.getExpiryTimeInMs()}")
        self.count.clear()

    def close(self) -> None:
        pass


class Keeper(StatefulProcessor):
    """Reads what it has just written, of every type, also a value that comes back from the JVM in another shape."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.plain: Any = handle.getValueState("plain", "n long, t string, d double, b boolean")
        self.shaped: Any = handle.getValueState("shaped", "f float, m decimal(10, 2), a array<int>")
        self.short: Any = handle.getValueState("short", "n long", 3_600_000)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ANN401, ARG002, N802, N803
        for row in rows:
            seen = [self.plain.exists(), self.plain.get(), self.shaped.get(), self.short.get()]
            if row.text == "three":
                self.plain.clear()
                self.shaped.clear()
            else:
                n = seen[1][0] + 1 if seen[1] else 1
                self.plain.update((n, row.text, n / 4, None))
                self.shaped.update((0.1, decimal.Decimal(n), [n, None]))
                self.short.update((n,))
            seen += [self.plain.exists(), self.plain.get(), self.shaped.get(), self.short.get()]
            yield Row(key=key[0], value=repr(seen))

    def close(self) -> None:
        pass


class Index(StatefulProcessor):
    """More calls for one row than a connection holds answers."""

    CALLS = 20_000

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.places: Any = handle.getMapState("places", "place long", "text string")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ANN401, ARG002, N802, N803
        for row in rows:
            for place in range(self.CALLS):
                self.places.updateValue((place,), (row.text,))
            yield Row(key=str(key[0]), value=self.places.getValue((self.CALLS - 1,))[0])

    def close(self) -> None:
        pass


class Untimely(StatefulProcessor):
    """Sets timers, and goes on to set more."""

    CALLS = 2000

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ANN401, ARG002, N802, N803
        for _ in rows:
            for at_ms in range(1, self.CALLS):
                self.handle.registerTimer(at_ms)
        return iter(())

    def close(self) -> None:
        pass


class Walker(StatefulProcessor):
    """Walks through its map again and again."""

    WALKS = 5000

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.places: Any = handle.getMapState("places", "place string", "times long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ANN401, ARG002, N802, N803
        for row in rows:
            self.places.updateValue((row.text,), (1,))
            found = [len(list(self.places.iterator())) for _ in range(self.WALKS)]
            yield Row(key=key[0], value=str(sum(found)))

    def close(self) -> None:
        pass


class Account(StatefulProcessor):
    """Goes on from what a key had before."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.total: Any = handle.getValueState("total", "total long")
        self.openings: Any = handle.getListState("openings", "amount long")

    def handleInitialState(self, key: Any, initialState: Row, timerValues: Any) -> None:  # noqa: ANN401, ARG002, N802, N803
        if initialState.amount < 0:
            message = "an account cannot be opened with a debt"
            raise ValueError(message)
        self.total.update(((self.total.get()[0] if self.total.exists() else 0) + initialState.amount,))
        self.openings.appendValue((initialState.amount,))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ANN401, ARG002, N802, N803
        for row in rows:
            total = (self.total.get()[0] if self.total.exists() else 0) + len(row.text)
            self.total.update((total,))
            openings = sorted(amount for (amount,) in self.openings.get()) if self.openings.exists() else []
            yield Row(key=key[0], value=f"{openings} {total}")

    def close(self) -> None:
        pass


class FramedAccount(StatefulProcessor):
    """The same with pandas, for one total."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.total: Any = handle.getValueState("total", "total long")

    def handleInitialState(self, key: Any, initialState: pd.DataFrame, timerValues: Any) -> None:  # noqa: ANN401, ARG002, N802, N803
        before = self.total.get()[0] if self.total.exists() else 0
        self.total.update((before + int(initialState["amount"].sum()),))

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:  # noqa: ANN401, ARG002, N802, N803
        for frame in rows:
            before = self.total.get()[0] if self.total.exists() else 0
            totals = before + frame["text"].str.len().cumsum()
            self.total.update((int(totals.iloc[-1]),))
            yield pd.DataFrame({"key": key[0], "value": totals.astype(str)})

    def close(self) -> None:
        pass


class Foresighted(StatefulProcessor):
    """Says of each key whether its value was there before anybody asked for it."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.count: Any = handle.getValueState("count", "count long")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: ANN401, ARG002, N802, N803
        # Ours, which is in workers only.
        values: Any = sys.modules["headrace_worker.values"]
        is_there = ("count", tuple(key)) in values.VALUES._known
        self.count.update((sum(1 for _ in rows),))
        yield Row(key=key[0], value=str(is_there))

    def close(self) -> None:
        pass
