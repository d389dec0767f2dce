# SPDX-License-Identifier: Apache-2.0
"""Brings the user's settings and ours together; pure, so that every rule can be tested without a JVM."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from headrace.errors import SettingConflictError
from headrace.options import FOREIGN_CONNECTOR, SETTINGS, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

JARS = "spark.jars"
PACKAGES = "spark.jars.packages"

# Spark itself loads both the application's jars and those of the command line; of other lists the application's wins.
_ADDED_UP = (JARS, PACKAGES)

_FOREIGN_ARTIFACTS = "|".join(re.escape(coordinate.partition(":")[2]) for coordinate in FOREIGN_CONNECTOR)
# Ivy puts the group in front of the name when it copies a jar for Spark.
_FOREIGN_JAR = re.compile(rf"(org\.apache\.\w+_)?({_FOREIGN_ARTIFACTS})(_\d[\d.]*)?-\d.*\.jar")


@dataclass(frozen=True, kw_only=True, slots=True)
class UserSettings:
    """What the user has set, by where; an earlier field wins over a later one, as in Spark.

    Attributes:
        app: In the application's code.
        launch: On the command line: ``headrace run --conf``, ``PYSPARK_SUBMIT_ARGS``.
        defaults: In ``spark-defaults.conf``.
    """

    app: Mapping[str, str] = field(default_factory=dict)
    launch: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)

    def get(self, key: str) -> str | None:
        """Returns the value that Spark would use, or ``None``."""
        return next((layer[key] for layer in (self.app, self.launch, self.defaults) if key in layer), None)

    def items_of(self, key: str) -> list[str]:
        """Returns the items of a list in the user's order."""
        if key in _ADDED_UP and key in self.app and key in self.launch:
            return [*_split(self.app[key]), *_split(self.launch[key])]
        return _split(self.get(key) or "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Merged:
    """The settings of a session.

    Attributes:
        conf: What to set, for Spark to add its defaults to.
        notes: What was changed that the user should know of, one sentence each.
    """

    conf: dict[str, str]
    notes: tuple[str, ...]


def merge(user: UserSettings, *, jars: Sequence[str], slots: int) -> Merged:
    """Merges the user's settings with the table of ours.

    Args:
        user: What the user has set.
        jars: The engine jar and the libraries it uses.
        slots: The slots of a local master, for a user who names no master.

    Raises:
        SettingConflictError: The user's value contradicts what the engine needs.
    """
    refuse_conflicts(user)
    lists = merge_lists(user, jars=jars)
    conf = {**user.launch, **user.app, **lists.conf}
    heaps = {f"{jvm}_memory": _heap(user.get(f"spark.{jvm}.memory")) for jvm in ("driver", "executor")}
    for setting in SETTINGS:
        given = user.get(setting.key)
        if setting.kind is Kind.OPTIONS:
            conf[setting.key] = _with_options(setting.value.format(**heaps), given or "")
        elif setting.kind is Kind.REQUIRED or (setting.kind is Kind.PREFERENCE and given is None):
            conf[setting.key] = setting.value.format(slots=slots)
    return Merged(conf=conf, notes=lists.notes)


def merge_lists(user: UserSettings, *, jars: Sequence[str]) -> Merged:
    """Merges only the settings that are lists; no value of the user's can be in conflict with those."""
    conf: dict[str, str] = {}
    notes: list[str] = []
    for setting in SETTINGS:
        if setting.kind is not Kind.LIST:
            continue
        ours = _split(setting.value.format(jars=",".join(jars)))
        kept, foreign = _without_foreign(setting.key, user.items_of(setting.key), ours=ours)
        notes += (_taken_out(item, setting.key) for item in foreign)
        items = _unique([*kept, *ours])
        # An emptied list is written down all the same: it has to replace the user's.
        if items or user.get(setting.key) is not None:
            conf[setting.key] = ",".join(items)
    return Merged(conf=conf, notes=tuple(notes))


def refuse_conflicts(user: UserSettings) -> None:
    """Raises an error when the user gave a required setting another value.

    Raises:
        SettingConflictError: Names the first such setting with both values.
    """
    for setting in SETTINGS:
        given = user.get(setting.key)
        if setting.kind is Kind.REQUIRED and given is not None and _canonical(given) != _canonical(setting.value):
            raise SettingConflictError(setting.key, wanted=setting.value, given=given, reason=setting.reason)


def is_foreign_jar(name: str) -> bool:
    """Says whether a file name is that of a jar of Spark's own Kafka connector."""
    return _FOREIGN_JAR.fullmatch(name) is not None


def _canonical(value: str) -> str:
    """Makes equal what Spark reads as equal: it trims values and ignores the case of true and false."""
    trimmed = value.strip()
    return trimmed.lower() if trimmed.lower() in ("true", "false") else trimmed


def _heap(memory: str | None) -> str:
    """Spells a heap as a JVM reads it: for Spark a number alone means megabytes, and nothing means one gigabyte."""
    given = (memory or "").strip().lower().removesuffix("b")
    return f"{given}m" if given.isdecimal() else given or "1g"


def _with_options(ours: str, given: str) -> str:
    """Puts our options before the user's, and none twice: an application may be merged again."""
    words = given.split()
    return " ".join([*(option for option in ours.split() if option not in words), given.strip()]).strip()


def _split(value: str) -> list[str]:
    return [item.strip() for item in value.split(",") if item.strip()]


def _unique(items: Iterable[str]) -> list[str]:
    first_of: dict[str, str] = {}
    for item in items:
        first_of.setdefault(_identity(item), item)
    return list(first_of.values())


def _identity(item: str) -> str:
    """What two spellings of one item share: spark-submit writes a jar's path as a ``file:`` address."""
    address = urlsplit(item)
    return unquote(address.path) if address.scheme == "file" else item


def _without_foreign(key: str, items: Sequence[str], *, ours: Sequence[str]) -> tuple[list[str], list[str]]:
    """Parts a list into what stays and what belongs to Spark's own Kafka connector."""
    known = {_identity(item) for item in ours}
    foreign = [item for item in items if _is_foreign(key, item) and _identity(item) not in known]
    return [item for item in items if item not in foreign], foreign


def _is_foreign(key: str, item: str) -> bool:
    match key:
        case "spark.jars":
            return is_foreign_jar(PurePosixPath(urlsplit(item).path).name)
        case "spark.jars.packages":
            # Spark accepts group/artifact:version as well as group:artifact:version.
            group_and_artifact = ":".join(item.replace("/", ":").split(":")[:2])
            return re.sub(r"_\d[\d.]*$", "", group_and_artifact) in FOREIGN_CONNECTOR
        case _:
            return False


def _taken_out(item: str, key: str) -> str:
    return f'took {item} out of {key}: format("kafka") is Headrace\'s own connector, with its own client'
