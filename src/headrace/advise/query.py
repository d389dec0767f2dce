# SPDX-License-Identifier: Apache-2.0
"""What a check found out about one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One part of a query, and whether real-time mode runs it.

    Attributes:
        where: Spark's name of the operator, or ``sink``, or ``start`` for what is wrong with the query as a whole.
        condition: The line of the table of rules, or the error with which Spark refuses the query.
        allowed: Whether it can run.
        what: The feature, in the user's words.
        reason: Why it cannot; empty if it can.
        instead: What to do instead; empty if it can, or if the reason says so itself.
    """

    where: str
    condition: str
    allowed: bool
    what: str
    reason: str
    instead: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """A Kafka source, as its brokers know it.

    Attributes:
        name: The format.
        tasks: How many tasks read it at once; ``None`` if the brokers did not say.
        unknown: The condition of the error with which they did not.
        records: How many records each partition holds.
        client: The settings of the consumer that decide how long a record may wait.
    """

    name: str
    tasks: int | None
    unknown: str | None
    records: Mapping[str, int]
    client: Mapping[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """A stateful operator, and whether something removes its old state."""

    operator: str
    bounded: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedQuery:
    """A query that was planned for real-time mode, judged, and not started.

    Attributes:
        name: Its name, if it has one.
        real_time_ms: The interval of its real-time trigger; ``None`` if its trigger is another.
        trigger: The kind of its trigger if it is another.
        findings: The sink, what is wrong with the query as a whole, and each operator from the sink down.
        sources: Its Kafka sources.
        shuffles: The partitions of each shuffle, in the order in which records pass them.
        pinned_partitions: The shuffle partitions that an existing checkpoint has pinned.
        slots: How many tasks the application can run at once now.
        state: Its stateful operators.
        tables: The sizes in bytes of static tables it is joined with, where Spark knows them.
        commits_at_epoch_end: Why progress is not recorded inside its epochs; ``None`` if it is, or nobody knows.
        frozen_clock: Whether it asks for the current time.
        python_stages: For each operator that is Python's, the number of the shuffles before it.
        state_stages: The same for stateful operators.
        producer: The settings of its Kafka producer that decide how long a record may wait.
        settings: The application's settings that matter for its size.
        collectors: The garbage collectors of the driver's JVM.
    """

    name: str | None = None
    real_time_ms: int | None = None
    trigger: str | None = None
    findings: Sequence[Finding] = ()
    sources: Sequence[Source] = ()
    shuffles: Sequence[int] = ()
    pinned_partitions: int | None = None
    slots: int = 0
    state: Sequence[State] = ()
    tables: Sequence[int] = ()
    commits_at_epoch_end: str | None = None
    frozen_clock: bool = False
    python_stages: Sequence[int] = ()
    state_stages: Sequence[int] = ()
    producer: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    collectors: Sequence[str] = ()

    @property
    def refused(self) -> tuple[Finding, ...]:
        """What cannot run."""
        return tuple(finding for finding in self.findings if not finding.allowed)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The conditions of what cannot run, each once."""
        return tuple(dict.fromkeys(finding.condition for finding in self.refused))

    @property
    def is_eligible(self) -> bool:
        """Whether real-time mode would run it, given the slots."""
        return not self.refused

    @property
    def slots_needed(self) -> int | None:
        """How many tasks it has, all of which run at once; ``None`` if that is not known."""
        tasks = [source.tasks for source in self.sources]
        known = [count for count in tasks if count is not None]
        if not self.is_eligible or not known or len(known) < len(tasks):
            return None
        return sum(known) + sum(self.shuffles)


def parse(report: Json) -> CheckedQuery:
    """Reads what the engine reports of a rehearsal."""
    sources = [
        Source(
            name=source["name"],
            tasks=source.get("tasks"),
            unknown=source.get("unknown"),
            records=source.get("records", {}),
            client=source.get("client", {}),
        )
        for source in report.get("sources", ())
    ]
    plain: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in report.items()
        if key not in ("findings", "sources", "state")
    }
    return CheckedQuery(
        findings=tuple(Finding(**finding) for finding in report["findings"]),
        sources=tuple(sources),
        state=tuple(State(**state) for state in report.get("state", ())),
        **plain,
    )
