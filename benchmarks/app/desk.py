# SPDX-License-Identifier: Apache-2.0
"""Answers the application's questions: where to begin to read, where to write, and how often to commit."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.clients import BOOTSTRAP, UntranslatableError, client_settings

from headrace.errors import KafkaError
from headrace.local import Topics

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from app.tap import Offsets

MICRO_BATCH = "micro-batch"
REAL_TIME = "real-time"
KAFKA = "kafka"
LATEST = "latest"
# Kafka allows 249; the rest is for what is appended.
LONGEST_NAME = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """A query that reads from Kafka and writes to it.

    Attributes:
        number: That of its question.
        name: Its own, or what it reads and writes.
        client: How to reach the cluster.
        sources: Where it begins to read.
        sink: The temporary topic that it writes to.
        partitions: How many partitions that has.
        trigger: What runs it here.
    """

    number: int
    name: str
    client: dict[str, str]
    sources: Offsets
    sink: str
    partitions: int
    trigger: dict[str, str]


class Desk:
    """The folder in which the application's process puts its questions, and what came of them."""

    def __init__(self, folder: Path, mode: str) -> None:
        """Takes a folder that exists, and the mode to run in."""
        self.folder = folder
        self._mode = mode
        self._made: list[tuple[Topics, str]] = []
        self.queries: list[Query] = []
        self.unmeasured: list[str] = []

    def serve(self) -> list[Query]:
        """Answers what was asked meanwhile; returns the queries that are to be measured, before they are told so."""
        asked = sorted(self.folder.glob("*.question"), key=lambda path: int(path.stem))
        fresh = []
        for path in asked:
            if path.with_suffix(".answer").exists() or int(path.stem) in {query.number for query in self.queries}:
                continue
            question = json.loads(path.read_text(encoding="utf-8"))
            if question["about"] == "source":
                self._put(path.stem, {"startingOffsets": _newest(question["options"])})
            elif query := self._accept(int(path.stem), question):
                self.queries.append(query)
                fresh.append(query)
        return fresh

    def admit(self, query: Query) -> None:
        """Lets a query start."""
        answer = {"is_measured": True, "topic": query.sink, "trigger": query.trigger}
        self._put(str(query.number), {**answer, "checkpoint": self._checkpoint(query.number)})

    def failure(self) -> str:
        """Returns why a query failed; empty if none did."""
        told = sorted(self.folder.glob("*.failure"))
        return str(json.loads(told[0].read_text(encoding="utf-8"))) if told else ""

    def slots(self, query: Query) -> int | None:
        """Returns how many slots a query holds, as far as it is known."""
        path = self.folder / f"{query.number}.slots"
        return int(path.read_text(encoding="utf-8")) if path.exists() else None

    def close(self) -> None:
        """Deletes the topics that were made."""
        for topics, name in self._made:
            topics.delete(name)
        self._made.clear()

    def _accept(self, number: int, question: dict[str, Any]) -> Query | None:
        name = question["name"] or _described(question)
        try:
            client, sources = _where(question)
        except UntranslatableError as reason:
            self.unmeasured.append(f"{name}: {reason}")
            self._put(str(number), {"is_measured": False, "checkpoint": self._checkpoint(number)})
            return None
        topics = Topics(client[BOOTSTRAP], client)
        own = question["options"].get("topic")
        model = own if own in topics.names() else next(iter(sources))
        query = Query(
            number=number,
            name=name,
            client=client,
            sources=sources,
            sink=f"{(own or 'results')[:LONGEST_NAME]}-headrace-bench-{self._mode}-{secrets.token_hex(3)}",
            partitions=len(topics.partitions(model)),
            trigger={"realTime": question["epoch"]} if self._mode == REAL_TIME else {"processingTime": "0 seconds"},
        )
        topics.create(query.sink, partitions=query.partitions)
        self._made.append((topics, query.sink))
        return query

    def _checkpoint(self, number: int) -> str:
        return str(self.folder / f"checkpoint-{number}")

    def _put(self, number: str, answer: dict[str, Any]) -> None:
        draft = self.folder / f"{number}.answer.draft"
        draft.write_text(json.dumps(answer), encoding="utf-8")
        draft.rename(self.folder / f"{number}.answer")


def _newest(options: Mapping[str, str]) -> str:
    """Returns where a source begins if it begins now: as offsets, so that no record before them is waited for."""
    try:
        client = client_settings(options)
        topics = Topics(client[BOOTSTRAP], client)
        wanted = _topics_of(options)
        if not wanted or not wanted.keys() <= set(topics.names()):
            return LATEST
        found = {topic: topics.describe(topic).partitions for topic in wanted}
    except (UntranslatableError, KafkaError):
        # The query itself will say what is wrong with it, if anything is.
        return LATEST
    offsets = {
        topic: {each.number: each.latest for each in partitions if not wanted[topic] or each.number in wanted[topic]}
        for topic, partitions in found.items()
    }
    return json.dumps(offsets)


def _topics_of(options: Mapping[str, str]) -> dict[str, list[int]]:
    """Returns the topics that a source names, with their partitions; all of them, if there are none."""
    if "assign" in options:
        assigned: dict[str, list[int]] = json.loads(options["assign"])
        return assigned
    return {topic.strip(): [] for topic in options.get("subscribe", "").split(",") if topic.strip()}


def _where(question: Mapping[str, Any]) -> tuple[dict[str, str], Offsets]:
    """Returns how to reach the cluster of a query, and where the query begins to read.

    Raises:
        UntranslatableError: The query cannot be measured.
    """
    if question["sink"] != KAFKA:
        message = f"it writes to {question['sink']}, not to Kafka"
        raise UntranslatableError(message)
    others = sorted({source["name"] for source in question["sources"]} - {KAFKA})
    if others or not question["sources"]:
        message = f"it reads from {', '.join(others) or 'no stream'}, not from Kafka alone"
        raise UntranslatableError(message)
    clients = [client_settings(each["options"]) for each in (question, *question["sources"])]
    if any(client != clients[0] for client in clients):
        message = "it reads from one cluster, or as one user, and writes as another"
        raise UntranslatableError(message)
    sources: Offsets = {}
    for source in question["sources"]:
        begin = source["options"].get("startingoffsets", LATEST)
        if begin == LATEST:
            message = "it reads topics by a pattern, or topics that are not there"
            raise UntranslatableError(message)
        for topic, offsets in json.loads(begin).items():
            sources.setdefault(topic, {}).update({int(number): offset for number, offset in offsets.items()})
    return clients[0], sources


def _described(question: Mapping[str, Any]) -> str:
    topics = [topic for source in question["sources"] for topic in _topics_of(source["options"]) or [source["name"]]]
    sink = question["options"].get("topic") or question["sink"]
    return f"{', '.join(sorted(set(topics))) or 'nothing'} to {sink}"
