# SPDX-License-Identifier: Apache-2.0
"""Says what Headrace sets and why: for a terminal, and for the reference page.

``python -m headrace.run.explain`` prints the page.
"""

from __future__ import annotations

import os
import sys
import textwrap
from typing import TYPE_CHECKING

from headrace.engine.launch import local_slots, surrounding_settings
from headrace.engine.settings import UserSettings, merge
from headrace.engine.submission import VARIABLE, Submission
from headrace.options import SETTINGS, Kind, Setting

if TYPE_CHECKING:
    from collections.abc import Mapping

_WIDTH = 100
_YIELDING = (Kind.PREFERENCE, Kind.LATE)
_JARS = ("<engine jar>", "<kafka-clients jar>", "<HdrHistogram jar>")

_PAGE = """\
# Settings

<!-- Written by `python -m headrace.run.explain` from the table in src/headrace/options.py; do not edit. -->

Every setting of Spark's that `headrace.session()`, `headrace.configure(builder)` and `headrace run` touch.
`headrace run --explain` prints the same with the values in force on your machine.

{rows}

What happens when you set the same key:

- **required**: the engine cannot work with another value. Setting one is a `SettingConflictError` that names both.
- **preference**: yours wins.
- **list**: your items come first, then ours, none twice.
- **options**: ours come first, then yours; of two with one meaning, such as `-Xms`, a JVM takes the last.
- **late**: yours wins. Ours is put in force by the plugin when the application starts, for it must not be among the
  settings that `spark-submit` reads: it could not load the class yet, and would not start. Do not set it to our value.

`{{jars}}` are the engine jar and the libraries it uses; `{{slots}}` is four times the number of cores, and at least 16;
`{{driver_memory}}` and `{{executor_memory}}` are `spark.driver.memory` and `spark.executor.memory`.

## Where your settings are looked for

As with `spark-submit`, the first of these that names a key decides:

1. the application's code: `builder.config(...)`, `SparkConf`, the arguments of `headrace.session()`;
2. the command line: `headrace run --conf` and `--master`, then `PYSPARK_SUBMIT_ARGS`;
3. `spark-defaults.conf` in `SPARK_CONF_DIR` or in `conf` under `SPARK_HOME`, or the file named by `--properties-file`.

Jars and packages named by the application and on the command line are all loaded.

## Outside this table

- Spark's own Kafka connector is also taken out of `--jars` and `--packages`, and a line on stderr says so. Among
  Spark's own jars it is an error.
- With a local master, Python workers run the interpreter of the application unless `PYSPARK_PYTHON` or
  `spark.pyspark.python` names another.
- `spark.sql.execution.sortBeforeRepartition` is left alone: Spark itself switches it off, for real-time queries only.
- No class path is set. With `spark.jars` alone the extension, the plugin and the connector load in the driver and in
  the executors, locally and on a cluster.

## How this is known

`tests/integration/test_session.py` and `test_run.py` start Spark and ask it: that it knows every key of the table, that
every required value is in force, that a user's extension, plugin and jars work next to ours, that executors of a
cluster load the engine, and that another connector on the class path is found.
"""


def as_text(conf: Mapping[str, str]) -> str:
    """Returns each setting with the value in force, for a terminal.

    Args:
        conf: The settings of the command line.

    Raises:
        HeadraceError: A session could not be created with these settings.
    """
    user = surrounding_settings(Submission.parse(os.environ.get(VARIABLE)).with_conf(conf))
    in_force = merge(user, jars=_JARS, slots=local_slots()).conf
    return "\n".join(_block(setting, _value(setting, in_force, user), _origin(setting, user)) for setting in SETTINGS)


def as_page() -> str:
    """Returns the reference page."""
    rows = ["| Setting | Value | Kind | Why |", "|---|---|---|---|"]
    for setting in SETTINGS:
        value = f"`{setting.value}`" if setting.value else ""
        rows.append(f"| `{setting.key}` | {value} | {setting.kind.value} | {setting.reason} |")
    return _PAGE.format(rows="\n".join(rows))


def _value(setting: Setting, in_force: Mapping[str, str], user: UserSettings) -> str | None:
    given = in_force.get(setting.key, user.get(setting.key))
    return setting.value if given is None and setting.kind is Kind.LATE else given


def _origin(setting: Setting, user: UserSettings) -> str:
    if user.get(setting.key) is None or setting.kind is Kind.REQUIRED:
        return f"{setting.kind.value}, ours"
    return f"{setting.kind.value}, {'yours' if setting.kind in _YIELDING else 'yours and ours'}"


def _block(setting: Setting, value: str | None, origin: str) -> str:
    reason = textwrap.fill(
        f"{origin}: {setting.reason}",
        width=_WIDTH,
        initial_indent="    ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    )
    return f"{setting.key} = {value or ''}".rstrip() + f"\n{reason}\n"


if __name__ == "__main__":
    sys.stdout.write(as_page())
