# SPDX-License-Identifier: Apache-2.0
"""What Spark's JVM says of an error, cause by cause."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import is_instance_of  # type: ignore[import-untyped]
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext

if TYPE_CHECKING:
    from collections.abc import Iterator

_DEEPEST = 30
_OURS = "HeadraceException"


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """One error in a chain of causes.

    Attributes:
        names: By what it can be recognised: the names of its class and of those above it, its condition, and the class
            of its SQLSTATE (``SQLSTATE 22``: the data are at fault).
        condition: The condition of Spark's or ours, if it has one.
        message: Its own words.
    """

    names: frozenset[str]
    condition: str | None
    message: str


def links_of(error: BaseException) -> list[Link]:
    """Returns an error and its causes, in Python and in the JVM, the last cause last."""
    links: list[Link] = []
    at: BaseException | None = error
    while at is not None and len(links) < _DEEPEST:
        condition = getattr(at, "condition", None)
        names = {cls.__name__ for cls in type(at).__mro__} - {"object", "BaseException", "Exception"}
        words = _words(at)
        if "UnknownException" in names:
            # PySpark knew none of its own for an error of Java's, whose class now stands before the words.
            names |= set(re.findall(r"\A(?:\w+\.)*(\w+)", words))
        links.append(Link(names=frozenset(names), condition=condition, message=words))
        # PySpark keeps the JVM's error in one of these, and a cause that it has translated in the last.
        thrown: Any = getattr(at, "_origin", None) or getattr(at, "java_exception", None)
        # A JVM that is gone has nothing more to say, and that is why most such errors are raised.
        with contextlib.suppress(Py4JError, OSError):
            links += _thrown_links(thrown)
        at = at.__cause__ or (None if thrown is not None else getattr(at, "_cause", None))
    return links


def _words(error: BaseException) -> str:
    try:
        return str(error) if type(error).__module__ != "builtins" else f"{type(error).__name__}: {error}"
    except (Py4JError, OSError):
        # PySpark asks the JVM for the words.
        return ""


def _thrown_links(thrown: Any) -> Iterator[Link]:  # noqa: ANN401 py4j has no types
    while thrown is not None:
        names = set(_class_names(thrown.getClass()))
        condition = None
        if is_instance_of(SparkContext._gateway, thrown, "org.apache.spark.SparkThrowable"):  # noqa: SLF001
            condition = thrown.getCondition()
            state = thrown.getSqlState()
            names |= {condition} if condition else set()
            # Ours all have the same one.
            names |= {f"SQLSTATE {state[:2]}"} if state and _OURS not in names else set()
        yield Link(names=frozenset(names), condition=condition, message=thrown.getMessage() or thrown.toString())
        thrown = thrown.getCause()


def _class_names(cls: Any) -> Iterator[str]:  # noqa: ANN401 py4j has no types
    while cls is not None and cls.getName() != "java.lang.Throwable":
        yield cls.getSimpleName()
        cls = cls.getSuperclass()
