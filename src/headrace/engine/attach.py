# SPDX-License-Identifier: Apache-2.0
"""Gives the engine to an application that does not know of it."""

from __future__ import annotations

import contextlib
import functools
import inspect
import signal
import threading
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from headrace.engine.launch import add_engine_to_submission, with_engine
from headrace.engine.session import EngineBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SETTING_OF_PARAMETER = {"master": "spark.master", "appName": "spark.app.name", "sparkHome": "spark.home"}


def attach(conf: Mapping[str, str], started: Callable[[], None] | None = None) -> None:
    """Changes PySpark in this process so that whatever starts Spark starts it with the engine.

    An application gets to Spark in one of three ways, and each is covered: a session builder, a ``SparkContext`` of its
    own, or a call that starts the JVM before either.

    Args:
        conf: Settings of the command line; the application's own win over them, as with spark-submit.
        started: Is called whenever a SparkContext has been made.

    Raises:
        HeadraceError: The engine cannot be attached; nothing was changed.
    """
    add_engine_to_submission(conf)
    SparkSession.Builder = EngineBuilder  # type: ignore[misc]
    SparkContext.__init__ = _initialise_with_engine(SparkContext.__init__, started)  # type: ignore[method-assign]


def _initialise_with_engine(initialise: Any, started: Callable[[], None] | None) -> Any:  # noqa: ANN401 its signature is PySpark's business
    signature = inspect.signature(initialise)

    @functools.wraps(initialise)
    def initialise_with_engine(*args: object, **kwargs: object) -> None:
        call = signature.bind(*args, **kwargs)
        conf: SparkConf | None = call.arguments.get("conf")
        app = dict(conf.getAll()) if conf is not None else {}
        for parameter, key in _SETTING_OF_PARAMETER.items():
            if call.arguments.get(parameter):
                app[key] = call.arguments[parameter]
        with with_engine(app) as merged:
            call.arguments["conf"] = SparkConf(loadDefaults=False).setAll(list(merged.items()))
            initialise(*call.args, **call.kwargs)
        _interrupt_without_waiting(call.arguments["self"])
        if started is not None:
            started()

    return initialise_with_engine


def _interrupt_without_waiting(context: SparkContext) -> None:
    """Replaces PySpark's handler of Ctrl-C.

    It calls the JVM on the thread that it interrupts. That may be in the middle of a call, and a thread has one
    connection: if it has sent and not begun to read, the two calls wait for each other for ever.
    """

    def cancel() -> None:
        # The script may end, and with it the JVM, before this is done.
        with contextlib.suppress(Py4JError, OSError):
            context.cancelAllJobs()

    def interrupt(*_: object) -> None:
        threading.Thread(target=cancel, daemon=True).start()
        raise KeyboardInterrupt

    # PySpark sets its own under the same condition.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, interrupt)
