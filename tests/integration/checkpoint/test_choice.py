# SPDX-License-Identifier: Apache-2.0
"""Both classes are in force by default, and the user's own choice wins."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from headrace.options import SETTINGS
from tests.integration.checkpoint.files import OURS, SETTING, SPARKS
from tests.integration.children import run_program
from tests.integration.probes import jvm_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OUR_FILES = "headrace.checkpoint.LocalFiles"
THEIR_FILES = "org.apache.hadoop.fs.RawLocalFileSystem"


def test_both_are_in_force(spark: SparkSession) -> None:
    """The table says so, and Spark does so: the second one although spark-submit had made Hadoop's own before."""
    table = {setting.key: setting.value for setting in SETTINGS}
    assert (table[SETTING], table["spark.hadoop.fs.file.impl"]) == (OURS, OUR_FILES)
    assert spark.conf.get(SETTING) == OURS
    assert jvm_class(spark, "headrace.probe.SharedClass").name() == OUR_FILES


@pytest.mark.timeout(240)
@pytest.mark.parametrize("first", [OURS, SPARKS])
def test_the_users_own_win(first: str) -> None:
    """From the start of the JVM, and in a second application of one that began with ours."""
    theirs = {SETTING: SPARKS, "spark.hadoop.fs.file.impl": THEIR_FILES}
    turns = [{} if first == OURS else theirs, theirs]
    shown = run_program("checkpoint.choosing_application", json.dumps(turns), seconds=200)
    assert shown == [[OURS, OUR_FILES] if first == OURS else [SPARKS, THEIR_FILES], [SPARKS, THEIR_FILES]]
