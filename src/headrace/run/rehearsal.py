# SPDX-License-Identifier: Apache-2.0
"""Runs somebody's PySpark script while none of its queries starts."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.advise.query import CheckedQuery, parse
from headrace.engine.inert import disarm
from headrace.run import application

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@dataclass(frozen=True, kw_only=True, slots=True)
class Rehearsal:
    """What a script would have started, and what it ended with."""

    queries: tuple[CheckedQuery, ...]
    exit_code: int


def rehearse(script: str, arguments: Sequence[str], *, conf: Mapping[str, str]) -> Rehearsal:
    """Runs a script to its end and collects the queries that it would have started.

    What the script prints goes to stderr, so that stdout has room for a report alone.

    Args:
        script: The path of the script.
        arguments: What it finds in ``sys.argv`` behind its own name.
        conf: Settings of Spark's, over which the script's own win.

    Raises:
        ApplicationNotFoundError: There is no such script.
        HeadraceError: The engine cannot be attached; the script was not started.
    """
    queries: list[CheckedQuery] = []
    disarm(lambda report: queries.append(parse(report)))
    exit_code = 0
    with _printing_to_stderr():
        try:
            application.run(script, arguments, conf=conf)
        except SystemExit as end:
            # As Python reads it: nothing is success, a text is a message and a failure.
            exit_code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return Rehearsal(queries=tuple(queries), exit_code=exit_code)


@contextmanager
def _printing_to_stderr() -> Iterator[None]:
    """Redirects the descriptor, not the object: the JVM that the script starts inherits it."""
    sys.stdout.flush()
    before = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(before, 1)
        os.close(before)
