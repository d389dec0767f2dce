# SPDX-License-Identifier: Apache-2.0
"""What the surroundings of an application tell spark-submit, which starts Spark's JVM: arguments and defaults files.

PySpark hands ``PYSPARK_SUBMIT_ARGS`` to spark-submit. There ``--jars`` beats ``spark.jars``, so the arguments have to
be read and written anew for the engine's jars to arrive.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

VARIABLE = "PYSPARK_SUBMIT_ARGS"

_DEFAULT_ARGUMENTS = "pyspark-shell"
_CONF = ("--conf", "-c")
_FLAGS = {
    "--jars": "spark.jars",
    "--packages": "spark.jars.packages",
    "--exclude-packages": "spark.jars.excludes",
    "--master": "spark.master",
    "--remote": "spark.remote",
    "--driver-memory": "spark.driver.memory",
    "--driver-java-options": "spark.driver.extraJavaOptions",
    "--executor-memory": "spark.executor.memory",
}
_VARIABLES = {
    "MASTER": "spark.master",
    "SPARK_DRIVER_MEMORY": "spark.driver.memory",
    "SPARK_EXECUTOR_MEMORY": "spark.executor.memory",
}
"""Environment variables that spark-submit reads where nothing else names a setting."""
_PROPERTIES_FILE = "--properties-file"
_EXTRA_PROPERTIES_FILE = "--extra-properties-file"
_LOAD_DEFAULTS = "--load-spark-defaults"
_SWITCHES = (_LOAD_DEFAULTS, "--supervise", "--verbose", "-v", "--version", "--help", "-h", "--usage-error")


@dataclass(frozen=True, kw_only=True, slots=True)
class Submission:
    """spark-submit's arguments, taken apart.

    Attributes:
        conf: The settings among them: each ``--conf``, and the options that are another name for a setting.
        options: The other options with their values, as written.
        resource: What to run and its arguments; for PySpark always ``pyspark-shell``.
    """

    conf: Mapping[str, str]
    options: tuple[tuple[str, ...], ...]
    resource: tuple[str, ...]

    @classmethod
    def parse(cls, arguments: str | None) -> Submission:
        """Reads the arguments as spark-submit does; ``None`` means those that PySpark uses then."""
        words = shlex.split(_DEFAULT_ARGUMENTS if arguments is None else arguments)
        conf: dict[str, str] = {}
        flags: dict[str, str] = {}
        options: list[tuple[str, ...]] = []
        while words and words[0].startswith("-"):
            name, *value = _next_option(words)
            if name in _CONF and value:
                key, _, text = value[0].partition("=")
                conf[key] = text
            elif name in _FLAGS and value:
                flags[_FLAGS[name]] = value[0]
            else:
                options.append((name, *value))
        # An option beats the --conf of the same meaning, wherever it stands.
        return cls(conf={**conf, **flags}, options=tuple(options), resource=tuple(words))

    def defaults(self, environment: Mapping[str, str], spark_home: Path) -> dict[str, str]:
        """Reads the settings that hold where no argument says otherwise.

        Args:
            environment: The process's environment variables.
            spark_home: Where Spark is installed.
        """
        folder = Path(environment.get("SPARK_CONF_DIR") or spark_home / "conf")
        files = self._values_of(_EXTRA_PROPERTIES_FILE)[::-1] + self._values_of(_PROPERTIES_FILE)[-1:]
        if not self._values_of(_PROPERTIES_FILE) or (_LOAD_DEFAULTS,) in self.options:
            files.append(folder / "spark-defaults.conf")
        settings: dict[str, str] = {}
        for file in files:
            # spark-submit names a file that is missing better than we could; the one with the defaults may be.
            settings = {**_read_properties(file), **settings} if file.is_file() else settings
        for variable, key in _VARIABLES.items():
            if environment.get(variable):
                settings.setdefault(key, environment[variable])
        return settings

    def with_conf(self, conf: Mapping[str, str]) -> Submission:
        """Returns these arguments with further settings, which win over those that are there."""
        return self.with_only({**self.conf, **conf})

    def with_only(self, conf: Mapping[str, str]) -> Submission:
        """Returns these arguments with other settings."""
        return dataclasses.replace(self, conf=conf)

    def arguments(self) -> str:
        """Returns the arguments as one line."""
        settings = (("--conf", f"{key}={value}") for key, value in self.conf.items())
        return shlex.join(word for part in (*settings, *self.options, self.resource) for word in part)

    def _values_of(self, name: str) -> list[Path]:
        return [Path(option[1]) for option in self.options if option[0] == name and len(option) > 1]


def _next_option(words: list[str]) -> tuple[str, ...]:
    """Takes the first option off the words, with its value if it has one."""
    word = words.pop(0)
    name, equals, value = word.partition("=")
    if equals and name.startswith("--"):
        return name, value
    if word in _SWITCHES or not words:
        return (word,)
    return word, words.pop(0)


def _read_properties(file: Path) -> dict[str, str]:
    """Reads a file in the format of Java's properties; Spark trims the values."""
    settings = {}
    for line in _logical_lines(file.read_text(encoding="utf-8").splitlines()):
        match = re.fullmatch(r"((?:\\.|[^\\=:\s])+)(?:\s*[=:]\s*|\s+|$)(.*)", line)
        if match is not None:
            key, value = (re.sub(r"\\(.)", r"\1", part) for part in match.groups())
            settings[key] = value.strip()
    return settings


def _logical_lines(lines: Iterable[str]) -> list[str]:
    """Joins lines that end in a backslash with the next, and leaves out comments."""
    joined: list[str] = []
    continued = False
    for line in lines:
        text = line.strip()
        if continued:
            joined[-1] += text
        elif not text or text[0] in "#!":
            continue
        else:
            joined.append(text)
        # Two backslashes are one that stands for itself.
        continued = (len(joined[-1]) - len(joined[-1].rstrip("\\"))) % 2 == 1
        if continued:
            joined[-1] = joined[-1][:-1]
    return joined
