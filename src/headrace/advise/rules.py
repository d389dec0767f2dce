# SPDX-License-Identifier: Apache-2.0
"""What real-time mode runs and what it does not, as a table.

There is one table, a resource of the engine jar: the guard inside Spark refuses queries by it, and what Python shows of
it is read from the same file.
"""

from __future__ import annotations

import enum
import json
import zipfile
from dataclasses import dataclass

from headrace.engine.jars import engine_jar

RESOURCE = "headrace/rules.json"
"""The table's place in the engine jar, and below ``engine/src/main/resources``."""


class Verdict(enum.Enum):
    """Whether real-time mode runs a feature."""

    YES = "yes"
    NO = "no"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One feature of a query, and who runs it in real-time mode.

    Attributes:
        condition: The condition of the error with which the guard refuses the feature.
        what: The feature, in the user's words.
        spark_4_1: Whether Spark 4.1 runs it.
        spark_4_3: Whether Spark 4.3 runs it.
        headrace: Whether Spark 4.3 with Headrace runs it.
        reason: Why Headrace refuses it, as a sentence that goes on behind a colon; ``None`` where it does not.
        instead: What to do instead, as whole sentences; ``None`` where Headrace runs it.
    """

    condition: str
    what: str
    spark_4_1: Verdict
    spark_4_3: Verdict
    headrace: Verdict
    reason: str | None
    instead: str | None


def load_rules() -> tuple[Rule, ...]:
    """Reads the table from the installed engine jar.

    Raises:
        EngineMissingError: There is no engine jar.
        EngineMismatchError: It was built for another Spark version than the installed one.

    Example:
        >>> [rule.instead for rule in load_rules() if rule.condition == "RANGE_PARTITIONING"]
        ['Use repartition with a number or with columns.']
    """
    with zipfile.ZipFile(engine_jar()) as jar:
        return parse_rules(jar.read(RESOURCE))


def parse_rules(text: str | bytes) -> tuple[Rule, ...]:
    """Reads the table from its JSON form."""
    return tuple(
        Rule(
            condition=entry["condition"],
            what=entry["what"],
            spark_4_1=Verdict(entry["spark_4_1"]),
            spark_4_3=Verdict(entry["spark_4_3"]),
            headrace=Verdict(entry["headrace"]),
            reason=entry.get("reason"),
            instead=entry.get("instead"),
        )
        for entry in json.loads(text)["rules"]
    )
