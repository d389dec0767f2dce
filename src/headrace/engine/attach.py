# SPDX-License-Identifier: Apache-2.0
"""Gives the engine to an application that does not know of it."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from headrace.engine.launch import add_engine_to_submission, with_engine
from headrace.engine.session import EngineBuilder

if TYPE_CHECKING:
    from collections.abc import Mapping

_SETTING_OF_PARAMETER = {"master": "spark.master", "appName": "spark.app.name", "sparkHome": "spark.home"}


def attach(conf: Mapping[str, str]) -> None:
    """Changes PySpark in this process so that whatever starts Spark starts it with the engine.

    An application gets to Spark in one of three ways, and each is covered: a session builder, a ``SparkContext`` of its
    own, or a call that starts the JVM before either.

    Args:
        conf: Settings of the command line; the application's own win over them, as with spark-submit.

    Raises:
        HeadraceError: The engine cannot be attached; nothing was changed.
    """
    add_engine_to_submission(conf)
    SparkSession.Builder = EngineBuilder  # type: ignore[misc]
    SparkContext.__init__ = _initialise_with_engine(SparkContext.__init__)  # type: ignore[method-assign]


def _initialise_with_engine(initialise: Any) -> Any:  # noqa: ANN401 its signature is PySpark's business
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

    return initialise_with_engine
