# SPDX-License-Identifier: Apache-2.0
"""Turns checked queries into a report, for people and for programs."""

from __future__ import annotations

import enum
import json
import textwrap
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from headrace.advise.advice import advise, advise_together
from headrace.advise.sizing import Size, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta

    from headrace.advise.query import CheckedQuery, Finding
    from headrace.advise.wording import Advice

_WIDTH = 110


class Outcome(enum.IntEnum):
    """What a check says, as the exit code of the command."""

    READY = 0
    NOT_ELIGIBLE = 1
    TOO_FEW_SLOTS = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """The queries of one application, and what is to be said of them.

    Attributes:
        queries: All of them.
        budget: How old a result may be when it is read, if that was said.
    """

    queries: Sequence[CheckedQuery]
    budget: timedelta | None = None

    @property
    def counted(self) -> tuple[CheckedQuery, ...]:
        """Those that the outcome is about: the ones that ask for real-time mode, or all if none does."""
        asking = tuple(query for query in self.queries if query.real_time_ms is not None)
        return asking or tuple(self.queries)

    @property
    def size(self) -> Size:
        """What they take together."""
        return size(self.counted)

    @property
    def outcome(self) -> Outcome:
        """Whether the application is ready."""
        if not self.counted or not all(query.is_eligible for query in self.counted):
            return Outcome.NOT_ELIGIBLE
        return Outcome.READY if self.size.is_enough else Outcome.TOO_FEW_SLOTS

    def as_json(self) -> str:
        """Returns the report for a pipeline."""
        together = self.size
        return json.dumps(
            {
                "outcome": self.outcome.name.lower(),
                "budget_ms": None if self.budget is None else self.budget.total_seconds() * 1000,
                "slots": {
                    "needed": together.needed,
                    "parts": together.parts,
                    "with_headroom": together.with_headroom,
                    "offered": together.offered,
                    "setting": together.setting,
                },
                "buffers_mib": together.buffers_mib,
                "workers_mib": together.workers_mib,
                "stores_mib": together.stores_mib,
                "advice": [asdict(advice) for advice in advise_together(self.counted)],
                "queries": [self._query(query) for query in self.queries],
            },
            indent=1,
        )

    def _query(self, query: CheckedQuery) -> dict[str, object]:
        return {
            "name": query.name,
            "eligible": query.is_eligible,
            "conditions": query.conditions,
            "slots_needed": query.slots_needed,
            "real_time_ms": query.real_time_ms,
            "pinned_partitions": query.pinned_partitions,
            "findings": [asdict(finding) for finding in query.findings],
            "advice": [asdict(advice) for advice in advise(query, self.budget)],
        }

    def as_text(self) -> str:
        """Returns the report for a terminal."""
        lines: list[str] = []
        for number, query in enumerate(self.queries, start=1):
            lines += [*self._lines(number, query), ""]
        lines += [*self._of_size(), *_of_advice(advise_together(self.counted))]
        lines.append(f"{self.outcome.name.replace('_', ' ').lower()} (exit code {self.outcome.value})")
        return "\n".join(lines) + "\n"

    def _lines(self, number: int, query: CheckedQuery) -> Iterator[str]:
        called = f"query {number}{f' ({query.name})' if query.name else ''}"
        if query.is_eligible:
            yield f"{called} can run in real-time mode"
        else:
            yield f"{called} cannot run in real-time mode: {', '.join(query.conditions)}"
        if query not in self.counted:
            yield "  It has another trigger than the queries that the outcome is about, and does not count for it."
        for finding in query.findings:
            yield from _of_finding(finding)
        yield from _of_advice(advise(query, self.budget))

    def _of_size(self) -> Iterator[str]:
        together = self.size
        if together.needed is None or together.parts is None:
            silent = [source.unknown for query in self.counted for source in query.sources if source.unknown]
            yield f"slots: unknown, because {', '.join(silent) or 'a query cannot run'}"
            return
        total = f"{' + '.join(map(str, together.parts))} = " if len(together.parts) > 1 else ""
        yield (
            f"slots: {total}{together.needed} needed, {together.offered} offered; "
            f"with headroom {together.with_headroom} ({together.setting})"
        )
        yield f"memory: up to {together.buffers_mib} MiB of buffers on the executors' heaps, beside tables"
        outside = {"Python workers": together.workers_mib, "state stores": together.stores_mib}
        named = [f"up to {mib} MiB for {what}" for what, mib in outside.items() if mib]
        if named:
            yield f"  outside of the heaps {' and '.join(named)} (spark.executor.memoryOverhead)"


def _of_finding(finding: Finding) -> Iterator[str]:
    yield f"  {'yes' if finding.allowed else 'NO '} {finding.where}: {finding.what} [{finding.condition}]"
    if not finding.allowed:
        yield from _wrapped(f"{finding.reason} {finding.instead}".strip(), 8)


def _of_advice(advice: Sequence[Advice]) -> Iterator[str]:
    for piece in advice:
        yield from _wrapped(f"{piece.topic}: {piece.text} See docs/{piece.link}.", 2)


def _wrapped(text: str, indent: int) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2), break_on_hyphens=False
    )
