# SPDX-License-Identifier: Apache-2.0
"""Why an application ended, and whether starting it again can help: one table."""

from __future__ import annotations

import builtins
import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.engine import gateway
from headrace.engine.failures import links_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.engine.failures import Link

_LONGEST = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """Why a query or an application ended.

    Attributes:
        text: What to say of it, in one line.
        lasts: Why starting again cannot help, as a clause; ``None`` if it may.
    """

    text: str
    lasts: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """What becomes of errors that have one of these names.

    Attributes:
        names: Conditions, classes of SQLSTATE, or classes of errors with all below them.
        lasts: Why starting again cannot help; ``None`` if it may.
    """

    names: frozenset[str]
    lasts: str | None


RULES = (
    Rule(
        names=frozenset(
            {
                "CHECKPOINT_TAKEN_OVER",
                "CONCURRENT_STREAM_LOG_UPDATE",
                "CONCURRENT_QUERY",
            }
        ),
        lasts="another run of the same checkpoint has taken over",
    ),
    Rule(
        names=frozenset({"AuthorizationException", "AuthenticationException", "RecordTooLargeException"}),
        lasts="the brokers refuse it",
    ),
    Rule(
        names=frozenset({"FileNotFoundError", "PermissionError", "IsADirectoryError", "NotADirectoryError"}),
        lasts="the code or its data must be corrected",
    ),
    Rule(
        names=frozenset(
            {
                "KAFKA_UNREACHABLE",
                # Somebody may be about to create them.
                "KAFKA_TOPIC_NOT_FOUND",
                "KAFKA_PARTITION_NOT_FOUND",
                "KAFKA_READ_TIMEOUT",
                "KAFKA_WRITE_FAILED",
                "PROGRESS_NOT_RECORDED",
                "TRANSACTION_FAILED",
                "PYTHON_WORKER_HANGS",
                "PYTHON_WORKER_LOST",
                # Executors may be on their way.
                "SLOTS_INSUFFICIENT",
                # Raised in Python: the network, or a broker that is away.
                "OSError",
                "ResolveError",
                "KafkaError",
            }
        ),
        lasts=None,
    ),
    Rule(
        # All others of our own: options, checkpoints, what real-time mode does not run, a function that failed.
        names=frozenset({"HeadraceException", "HeadraceError"}),
        lasts="the code or its data must be corrected",
    ),
    Rule(
        # Spark's: the statement, the data, what is not supported, a user's function or error, limits, a wrong call.
        names=frozenset(
            f"SQLSTATE {number}" for number in ("07", "0A", "21", "22", "23", "38", "39", "42", "54", "P0")
        ),
        lasts="the code or its data must be corrected",
    ),
    Rule(
        names=frozenset(
            {
                "ArithmeticError",
                "AssertionError",
                "AttributeError",
                "ImportError",
                "LookupError",
                "NameError",
                "NotImplementedError",
                "SyntaxError",
                "TypeError",
                "ValueError",
            }
        ),
        lasts="the code or its data must be corrected",
    ),
)
"""The first rule that knows an error or one of its causes decides. What none knows may pass."""


def cause_of(error: BaseException) -> Cause:
    """Judges an error by itself and all its causes; without its JVM, Spark has none but that."""
    code = gateway.jvm_exit_code()
    return judge(links_of(error)) if code is None else cause_of_exit(code, "Spark's JVM")


def judge(links: Sequence[Link]) -> Cause:
    """Judges a chain of causes.

    Args:
        links: The error and its causes, the last cause last; at least one.
    """
    names = frozenset().union(*(link.names | _raised_in_a_function(link) for link in links))
    rule = next((rule for rule in RULES if rule.names & names), None)
    return Cause(text=_text(links), lasts=None if rule is None else rule.lasts)


def cause_of_exit(code: int, what: str) -> Cause:
    """Says of a process that told nothing how it ended."""
    if code >= 0:
        return Cause(text=f"{what} ended with exit code {code}")
    return Cause(text=f"{what} was ended by {signal.Signals(-code).name}")


def _text(links: Sequence[Link]) -> str:
    """The words of the cause that says most: ours, else the last one with a condition, else the last one."""
    ours = [link for link in links if "HeadraceException" in link.names]
    told = (ours or [link for link in links if link.condition] or links)[-1]
    line = told.message.strip().partition("\n")[0] or min(told.names, default="unknown")
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."


def _raised_in_a_function(link: Link) -> set[str]:
    """The classes of the error in a user's function, which came as text; only Python's own are known here."""
    # Spark calls what is given to foreachBatch through py4j.
    if link.names.isdisjoint({"PYTHON_FUNCTION_FAILED", "PythonException", "Py4JException"}):
        return set()
    raised = re.findall(r"^(?:\w+\.)*(\w+)(?::|$)", link.message.strip(), re.MULTILINE)
    kind = getattr(builtins, raised[-1], None) if raised else None
    return {cls.__name__ for cls in kind.__mro__} if isinstance(kind, type) else set()
