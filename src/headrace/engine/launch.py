# SPDX-License-Identifier: Apache-2.0
"""Prepares the start of a Spark application with the engine in it."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
from pyspark.find_spark_home import _find_spark_home

from headrace.engine import gateway, jars
from headrace.engine.java import let_compiler_yield
from headrace.engine.settings import JARS, UserSettings, is_foreign_jar, merge, merge_lists, refuse_conflicts
from headrace.engine.submission import VARIABLE, Submission
from headrace.errors import ConnectUnsupportedError, EngineMismatchError, ForeignConnectorError, JvmAlreadyRunningError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_PYTHON = "PYSPARK_PYTHON"
_LEAST_SLOTS = 16
_SLOTS_PER_CORE = 4


@contextmanager
def with_engine(app: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yields the settings to create a SparkContext with; a JVM that starts inside the block gets the engine.

    Args:
        app: What the application itself has set.

    Raises:
        HeadraceError: The engine cannot be attached, or a setting contradicts it; nothing was started.
    """
    refuse_connect(app)
    if gateway.is_running() and not gateway.has_engine():
        raise JvmAlreadyRunningError
    if gateway.is_application_running():
        # Its SparkContext is what it is; only what a session may change is still looked at.
        refuse_conflicts(UserSettings(app=app))
        yield dict(app)
        return
    submission = Submission.parse(os.environ.get(VARIABLE))
    if gateway.is_running():
        user = UserSettings(app=app, launch=gateway.launched_with())
    else:
        user = surrounding_settings(submission, app)
    merged = merge(user, jars=engine_jars(), slots=local_slots())
    tell(merged.notes)
    conf = merged.conf
    variables = _python_variables(conf.get("spark.master") or user.get("spark.master") or "", conf)
    if not gateway.is_running():
        # Taken out of the application's settings: there they would replace what spark-submit adds to the jars of its
        # command line, the resolved packages, and no executor would get those.
        variables[VARIABLE] = submission.with_only({JARS: conf.pop(JARS)}).arguments()
    with _environment(variables):
        yield conf
    if gateway.is_running():
        let_compiler_yield(gateway.jvm_pid())


def add_engine_to_submission(conf: Mapping[str, str]) -> None:
    """Gives the engine and some settings to every JVM of Spark's that this process will start, by whatever call."""
    submission = Submission.parse(os.environ.get(VARIABLE)).with_conf(conf)
    lists = merge_lists(surrounding_settings(submission), jars=engine_jars())
    tell(lists.notes)
    os.environ[VARIABLE] = submission.with_conf(lists.conf).arguments()


def surrounding_settings(submission: Submission, app: Mapping[str, str] | None = None) -> UserSettings:
    """Gathers what the user has set, and looks at the Spark it is meant for.

    Raises:
        ConnectUnsupportedError: A Spark Connect server is asked for.
        EngineMismatchError: ``SPARK_HOME`` is another Spark than the engine was built for.
        ForeignConnectorError: Another Kafka connector lies among Spark's own jars.
    """
    home = Path(_find_spark_home())
    _check_installation(home / "jars")
    user = UserSettings(app=app or {}, launch=submission.conf, defaults=submission.defaults(os.environ, home))
    refuse_connect(user.launch)
    return user


def refuse_connect(conf: Mapping[str, str]) -> None:
    """Raises an error when the settings or the environment ask for Spark Connect.

    Raises:
        ConnectUnsupportedError: They do; names which.
    """
    asked = ["spark.remote"] if "spark.remote" in conf else []
    asked += [name for name in ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED") if name in os.environ]
    if conf.get("spark.api.mode", os.environ.get("SPARK_API_MODE", "")).lower() == "connect":
        asked.append("spark.api.mode")
    if asked:
        # Only the names: the address may carry a token.
        raise ConnectUnsupportedError(", ".join(asked))


def engine_jars() -> list[str]:
    """Returns the jars that the engine consists of."""
    return [str(jar) for jar in (jars.engine_jar(), *jars.library_jars())]


def local_slots() -> int:
    """Returns how many slots a local master gets when the user names none."""
    return max(_LEAST_SLOTS, _SLOTS_PER_CORE * (os.cpu_count() or 1))


def tell(notes: Iterable[str]) -> None:
    """Tells the user on stderr, where it cannot mix with the application's output."""
    for note in notes:
        sys.stderr.write(f"headrace: {note}\n")


def _check_installation(folder: Path) -> None:
    for jar in sorted(folder.glob("*.jar")):
        if is_foreign_jar(jar.name):
            raise ForeignConnectorError(jar)
        core = re.fullmatch(r"spark-core_[\d.]+-(.+)\.jar", jar.name)
        if core is not None and core[1] != pyspark.__version__:
            raise EngineMismatchError(built_for=pyspark.__version__, running=core[1])


def _python_variables(master: str, conf: Mapping[str, str]) -> dict[str, str]:
    """Lets Python workers on this machine run the application's own interpreter.

    PySpark would take whatever ``python3`` comes first on ``PATH``, which need not have the application's packages.
    """
    if not master.startswith("local") or _PYTHON in os.environ or "spark.pyspark.python" in conf:
        return {}
    return {_PYTHON: sys.executable}


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
