# SPDX-License-Identifier: Apache-2.0
"""Runs somebody's application as `headrace run` does, with other triggers, checkpoints and output topics.

The application itself is not changed: PySpark's reader and writer of streams are, in this process. What to put in the
place of the application's own is decided by the comparison, which is asked through files in a folder: it knows Kafka.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import itertools
import json
import os
import re
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter
from pyspark.sql.utils import to_str

from headrace.run import application

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from pyspark.sql.streaming.query import StreamingQuery

Stream: TypeAlias = Any
"""A reader, a writer or a data frame of PySpark's, of which we need what its types do not show."""
Method: TypeAlias = "Callable[..., Any]"

REAL_TIME = "real-time"
OWN_EPOCH = "5 seconds"
KAFKA = "kafka"
# The connector obeys the first that it finds, so the others have to go.
BEGINNINGS = {"startingoffsets", "startingoffsetsbytimestamp", "startingtimestamp"}
POLL_S = 0.02
WATCH_S = 0.5
LINES_OF_AN_ERROR = 4
# A query's first batches may be smaller than those to come.
LOOKS_AT_TASKS = 6


_spark_load = DataStreamReader.load
_spark_start = DataStreamWriter.start
_spark_trigger = DataStreamWriter.trigger


class Desk:
    """Where questions are put and answered: files in a folder."""

    def __init__(self, folder: Path) -> None:
        """Takes the folder, which exists."""
        self.folder = folder
        self._numbers = itertools.count()
        self._parent = os.getppid()

    def ask(self, **question: object) -> tuple[int, dict[str, Any]]:
        """Puts a question; returns its number and the answer."""
        number = next(self._numbers)
        self.put(f"{number}.question", question)
        answer = self.folder / f"{number}.answer"
        while not answer.exists():
            if os.getppid() != self._parent:
                sys.exit("the comparison is gone")
            time.sleep(POLL_S)
        answered: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return number, answered

    def put(self, name: str, what: object) -> None:
        """Writes a file that nobody sees before it is whole."""
        draft = self.folder / f"{name}.draft"
        draft.write_text(json.dumps(what), encoding="utf-8")
        draft.rename(self.folder / name)


class Rewriter:
    """What the application's calls of PySpark come to here."""

    def __init__(self, desk: Desk, mode: str) -> None:
        """Takes where to ask, and the mode to run in."""
        self._desk = desk
        self._mode = mode

    def install(self) -> None:
        """Takes the place of PySpark's methods."""
        reader, writer = DataStreamReader, DataStreamWriter
        replaced: dict[type, dict[str, Method]] = {
            reader: {"format": _noting(reader.format), "name": _noting(reader.name), "load": self._load()},
            writer: {"format": _noting(writer.format), "start": self._start(), "toTable": self._to_table()},
        }
        replaced[reader] |= {"option": _option(reader.option), "options": _options}
        replaced[writer] |= {"option": _option(writer.option), "options": _options, "trigger": _trigger}
        replaced[writer] |= {"outputMode": _noting(writer.outputMode), "queryName": _noting(writer.queryName)}
        for cls, methods in replaced.items():
            for name, method in methods.items():
                setattr(cls, name, method)
        sys.excepthook = self._excepthook

    def _load(self) -> Method:
        @functools.wraps(_spark_load)
        def load(
            reader: Stream,
            path: str | None = None,
            format: str | None = None,  # noqa: A002 PySpark's name
            schema: Any = None,  # noqa: ANN401
            **options: object,
        ) -> Stream:
            _set(reader, format=format)
            reader.options(**options)
            if _notes(reader).get("format") == KAFKA:
                self._begin_now(reader)
            return _spark_load(reader, path, None, schema)

        return load

    def _begin_now(self, reader: Stream) -> None:
        options = _notes(reader)["options"]
        _, answer = self._desk.ask(about="source", options=options)
        fresh = reader._spark._jsparkSession.readStream().format(KAFKA)  # noqa: SLF001 options cannot be taken back
        if name := _notes(reader).get("name"):
            fresh = fresh.name(name)
        for key, value in options.items():
            if key not in BEGINNINGS:
                fresh = fresh.option(key, value)
        reader._jreader = fresh.option("startingOffsets", answer["startingOffsets"])  # noqa: SLF001

    def _start(self) -> Method:
        @functools.wraps(_spark_start)
        def start(  # noqa: PLR0913, PLR0917 as many as PySpark's
            writer: Stream,
            path: str | None = None,
            format: str | None = None,  # noqa: A002 PySpark's names
            outputMode: str | None = None,  # noqa: N803
            partitionBy: Any = None,  # noqa: ANN401, N803
            queryName: str | None = None,  # noqa: N803
            **options: object,
        ) -> StreamingQuery:
            _set(writer, format=format, outputMode=outputMode, queryName=queryName)
            writer.options(**options)
            number, answer = self._ask(writer, _notes(writer).get("format") or "a function")
            if not answer["is_measured"]:
                return _discard(writer, answer["checkpoint"])
            writer.options(topic=answer["topic"], checkpointLocation=answer["checkpoint"])
            writer.trigger(**answer["trigger"])
            with self._telling(number):
                query = _spark_start(writer, path, partitionBy=partitionBy)
            threading.Thread(target=self._watch, args=(number, query, writer), daemon=True).start()
            return query

        return start

    def _to_table(self) -> Method:
        @functools.wraps(DataStreamWriter.toTable)
        def to_table(writer: Stream, *_names: object, **_options: object) -> StreamingQuery:
            _, answer = self._ask(writer, "a table")
            return _discard(writer, answer["checkpoint"])

        return to_table

    def _ask(self, writer: Stream, sink: str) -> tuple[int, dict[str, Any]]:
        notes = _notes(writer)
        return self._desk.ask(
            about="query",
            name=notes.get("queryName"),
            sources=_sources(writer._df),  # noqa: SLF001
            sink=sink,
            options=notes["options"],
            epoch=notes["trigger"].get("realTime", OWN_EPOCH),
        )

    @contextlib.contextmanager
    def _telling(self, number: int) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._desk.put(f"{number}.failure", as_block(error))
            raise

    def _excepthook(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if not isinstance(error, KeyboardInterrupt):
            self._desk.put("application.failure", as_block(error))
        sys.__excepthook__(kind, error, trace)

    def _watch(self, number: int, query: StreamingQuery, writer: Stream) -> None:
        """Tells how many slots a query holds, and why it failed, if it does."""
        tracker = writer._spark.sparkContext.statusTracker()  # noqa: SLF001
        most, looks = 0, 0
        # The JVM goes away when the application ends, in the middle of a call or not.
        with contextlib.suppress(Exception):
            while query.isActive:
                time.sleep(WATCH_S)
                if looks < LOOKS_AT_TASKS and (tasks := self._tasks(tracker, str(query.runId))):
                    most, looks = max(most, tasks), looks + 1
                    self._desk.put(f"{number}.slots", most)
            if error := query.exception():
                self._desk.put(f"{number}.failure", as_block(error))

    def _tasks(self, tracker: Any, group: str) -> int:  # noqa: ANN401
        """Counts the tasks that run at once in the last job: of all stages in real time, else of the largest one."""
        jobs = tracker.getJobIdsForGroup(group)
        job = tracker.getJobInfo(max(jobs)) if jobs else None
        stages = [tracker.getStageInfo(stage) for stage in job.stageIds] if job else []
        tasks = [stage.numTasks for stage in stages if stage]
        return sum(tasks) if self._mode == REAL_TIME else max(tasks, default=0)


def _notes(stream: Stream) -> dict[str, Any]:
    """Returns what the application has said of a stream, by the method that it said it with."""
    notes: dict[str, Any] = stream.__dict__.setdefault("_notes", {"options": {}, "trigger": {}})
    return notes


def _noting(method: Method) -> Method:
    """Returns a method with one argument that also notes it."""

    @functools.wraps(method)
    def noting(self: Stream, value: str) -> Stream:
        _notes(self)[method.__name__] = value
        return method(self, value)

    return noting


def _option(method: Method) -> Method:
    @functools.wraps(method)
    def option(self: Stream, key: str, value: object) -> Stream:
        _notes(self)["options"][key.lower()] = to_str(value)
        return method(self, key, value)

    return option


def _options(self: Stream, **options: object) -> Stream:
    for key, value in options.items():
        if value is not None:
            self.option(key, value)
    return self


def _trigger(self: Stream, **trigger: object) -> Stream:
    _notes(self)["trigger"] = {key: value for key, value in trigger.items() if value is not None}
    # Spark's own method checks it, and complains as it would without us.
    return _spark_trigger(self, **trigger)  # type: ignore[call-overload]


def _set(stream: Stream, **values: str | None) -> None:
    for name, value in values.items():
        if value is not None:
            getattr(stream, name)(value)


def _discard(writer: Stream, checkpoint: str) -> StreamingQuery:
    """Runs a query that is not measured, into nothing: its own sink must not get everything twice."""
    notes = _notes(writer)
    substitute: Stream = DataStreamWriter(writer._df)  # noqa: SLF001
    _set(substitute, format="noop", outputMode=notes.get("outputMode"), queryName=notes.get("queryName"))
    substitute.options(checkpointLocation=checkpoint)
    # Other triggers do not know this sink.
    if notes["trigger"].keys() & {"processingTime", "once", "availableNow"}:
        substitute.trigger(**notes["trigger"])
    return _spark_start(substitute)


def _sources(rows: Stream) -> list[dict[str, Any]]:
    """Returns the streams that a query reads, each with its options as far as it is one of Kafka's."""
    leaves = rows._jdf.queryExecution().analyzed().collectLeaves()  # noqa: SLF001 PySpark shows no plan
    found = []
    for leaf in (leaves.apply(number) for number in range(leaves.size())):
        if leaf.isStreaming():
            name = str(leaf.sourceName()) if "StreamingRelation" in leaf.nodeName() else str(leaf.nodeName())
            options = dict(leaf.extraOptions().asCaseSensitiveMap()) if name == KAFKA else {}
            found.append({"name": name, "options": {key.lower(): value for key, value in options.items()}})
    return found


def as_block(error: BaseException) -> str:
    """Returns condition and message, without the JVM's and Spark's words around them."""
    text = re.split(r"JVM stacktrace:|=== Streaming Query ===", str(error))[0]
    text = text.rpartition("terminated with exception: ")[2]
    text = re.sub(r"^(?:[\w.$]+(?:Exception|Error): )+", "", text)
    return "\n".join([line for line in text.splitlines() if line.strip()][:LINES_OF_AN_ERROR])


def main() -> None:
    """Runs the application; does not return before its end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--desk", type=Path, required=True)
    parser.add_argument("--mode", required=True)
    parser.add_argument("script", nargs=argparse.PARSER)
    arguments = parser.parse_args()
    Rewriter(Desk(arguments.desk), arguments.mode).install()
    application.run(arguments.script[0], arguments.script[1:], conf={})


if __name__ == "__main__":
    main()
