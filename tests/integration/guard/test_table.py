# SPDX-License-Identifier: Apache-2.0
"""The table of rules against the installed Spark: fails first when Spark renames or learns something."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

from headrace.advise.rules import RESOURCE
from headrace.engine.jars import engine_jar
from tests.integration.probes import jvm_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALLOWLIST = "org.apache.spark.sql.execution.streaming.runtime.RealTimeModeAllowlist$"
# Spark's own Kafka sink; ours takes its place.
REPLACED = {"org.apache.spark.sql.kafka010.KafkaSourceProvider$KafkaTable"}


def load(spark: SparkSession, name: str) -> Any:  # noqa: ANN401 what py4j hands out
    """Finds a class without running any of it."""
    loader = jvm_class(spark, "java.lang.Thread").currentThread().getContextClassLoader()
    return jvm_class(spark, "java.lang.Class").forName(name, False, loader)  # noqa: FBT003 py4j knows no names


def classes(*verdicts: str) -> set[str]:
    """The classes that stand for features with one of these verdicts."""
    with zipfile.ZipFile(engine_jar()) as jar:
        rules = json.loads(jar.read(RESOURCE))["rules"]
    return {name for rule in rules if rule["headrace"] in verdicts for name in rule["classes"]}


def test_every_class_of_the_table_exists(spark: SparkSession) -> None:
    """A class that Spark renames would no longer be recognised, and be refused or let through by mistake."""
    missing = []
    for name in classes("yes", "no"):
        try:
            load(spark, name)
        except Exception as error:  # noqa: BLE001 py4j wraps the JVM's error
            missing.append(f"{name}: {error}")
    assert missing == []


def test_what_spark_allows_is_allowed_here(spark: SparkSession) -> None:
    """Spark's list is private; when it grows, ours must follow."""
    allowlist = load(spark, ALLOWLIST)
    allowed: set[str] = set()
    for field in allowlist.getDeclaredFields():
        if field.getName() in ("allowedSinks", "allowedOperators"):
            field.setAccessible(True)
            allowed.update(field.get(None).mkString(" ").split())
    assert len(allowed) > 30
    assert allowed - REPLACED - classes("yes") == set()
