# SPDX-License-Identifier: Apache-2.0
"""Which failures a restart can cure."""

from __future__ import annotations

import pytest

from headrace.engine.failures import Link, links_of
from headrace.errors import JavaMissingError, KafkaNotRunningError, ResolveError, SettingConflictError
from headrace.run.causes import RULES, cause_of, cause_of_exit, judge

STREAM = Link(
    names=frozenset({"StreamingQueryException", "STREAM_FAILED", "SQLSTATE XX"}),
    condition="STREAM_FAILED",
    message="[STREAM_FAILED] Query terminated with exception.",
)
ABORTED = Link(names=frozenset({"SparkException"}), condition=None, message="Job aborted due to stage failure.")


def ours(condition: str, message: str = "...") -> Link:
    names = frozenset({"HeadraceException", "IllegalArgumentException", condition})
    return Link(names=names, condition=condition, message=f"[{condition}] {message}")


def java(name: str) -> Link:
    return Link(names=frozenset({name, "RuntimeException"}), condition=None, message=name)


def function_failed(raised: str) -> Link:
    return ours("PYTHON_FUNCTION_FAILED", f"Python function f failed.\nTraceback ...\n  File 'app.py'\n{raised}\n")


def batch_function_failed(raised: str) -> list[Link]:
    """As Spark tells of the function of foreachBatch."""
    condition = "FOREACH_BATCH_USER_FUNCTION_ERROR"
    said = "An exception was raised by the Python Proxy. Return Message: Traceback (most recent call last):"
    return [
        Link(names=frozenset({condition, "SQLSTATE 39"}), condition=condition, message=f"[{condition}] ..."),
        Link(names=frozenset({"Py4JException"}), condition=None, message=f"{said}\n  File 'app.py'\n{raised}\n"),
    ]


PASSES = {
    "brokers away": [STREAM, ours("KAFKA_UNREACHABLE")],
    "a record that could not be written": [STREAM, ABORTED, ours("KAFKA_WRITE_FAILED"), java("TimeoutException")],
    "a worker that was killed": [STREAM, ABORTED, ours("PYTHON_WORKER_LOST")],
    "progress, and nobody else": [STREAM, ABORTED, ours("PROGRESS_NOT_RECORDED"), java("TimeoutException")],
    "a function whose database is away": [STREAM, ABORTED, function_failed("ConnectionRefusedError: [Errno 111]")],
    "a batch function whose database is away": [STREAM, *batch_function_failed("ConnectionRefusedError: [Errno 111]")],
    "an executor that was lost": [STREAM, ABORTED],
    "what nobody knows": [STREAM, java("IOException")],
}
LASTS = {
    "fenced": [STREAM, ABORTED, ours("CHECKPOINT_TAKEN_OVER"), java("ProducerFencedException")],
    "no rights": [STREAM, ABORTED, ours("KAFKA_WRITE_FAILED"), java("AuthorizationException")],
    "a function with a mistake": [STREAM, ABORTED, function_failed("ValueError: bad")],
    "a batch function with a mistake": [STREAM, batch_function_failed("ValueError: bad")[-1]],
    "an error of the function's own": [STREAM, ABORTED, function_failed("my.errors.Refused: bad")],
    "a query that is refused": [ours("FOREACH_BATCH")],
    "records that are gone": [STREAM, ours("KAFKA_DATA_LOSS")],
    "bad data": [STREAM, ABORTED, Link(names=frozenset({"SQLSTATE 22"}), condition="CAST_INVALID_INPUT", message="x")],
}


@pytest.mark.parametrize("links", PASSES.values(), ids=PASSES.keys())
def test_what_may_pass(links: list[Link]) -> None:
    assert judge(links).lasts is None


@pytest.mark.parametrize("links", LASTS.values(), ids=LASTS.keys())
def test_what_lasts(links: list[Link]) -> None:
    assert judge(links).lasts is not None


@pytest.mark.parametrize(
    "error",
    [NameError("x"), KeyError("x"), JavaMissingError("PATH"), SettingConflictError("k", "a", "b", "c")],
    ids=repr,
)
def test_errors_of_a_script_that_last(error: Exception) -> None:
    assert cause_of(error).lasts == "the code or its data must be corrected"


@pytest.mark.parametrize(
    "error",
    [ConnectionError("x"), TimeoutError(), KafkaNotRunningError(), ResolveError("a", "b", "c"), OSError()],
    ids=repr,
)
def test_errors_of_a_script_that_may_pass(error: Exception) -> None:
    assert cause_of(error).lasts is None


def test_a_cause_counts_as_well_as_the_error() -> None:
    error = RuntimeError("wrapped")
    error.__cause__ = ZeroDivisionError("division by zero")
    assert cause_of(error).lasts is not None
    assert [link.message for link in links_of(error)] == [
        "RuntimeError: wrapped",
        "ZeroDivisionError: division by zero",
    ]


def test_the_cause_that_says_most_is_said_in_one_line() -> None:
    raised = Link(names=frozenset({"PythonException"}), condition="PYTHON_EXCEPTION", message="[PYTHON_EXCEPTION] ...")
    links = [STREAM, ABORTED, function_failed("ValueError: bad"), raised]
    assert judge(links).text == "[PYTHON_FUNCTION_FAILED] Python function f failed."
    assert judge([STREAM, ABORTED]).text == STREAM.message


def test_a_process_that_tells_nothing_may_be_started_again() -> None:
    killed, ended = cause_of_exit(-9, "it"), cause_of_exit(3, "it")
    assert (killed.text, ended.text) == ("it was ended by SIGKILL", "it ended with exit code 3")
    assert killed.lasts is ended.lasts is None


def test_no_name_stands_in_two_rules() -> None:
    names = [name for rule in RULES for name in rule.names]
    assert len(names) == len(set(names))
