# SPDX-License-Identifier: Apache-2.0
"""Prints as JSON which file manager and which local file system applications have. Started by ``test_choice.py``."""

from __future__ import annotations

import json
import sys

import headrace
from tests.integration.checkpoint.files import SETTING
from tests.integration.probes import jvm_class, with_probes


def main(turns: str) -> None:
    """Runs applications in one JVM, one after the other, each with other settings of the user's."""
    shown = []
    for settings in json.loads(turns):
        spark = headrace.session(master="local[2]", conf=with_probes({"spark.ui.enabled": "false", **settings}))
        hadoop = spark._jsparkSession.sessionState().newHadoopConf()
        shown.append([hadoop.get(SETTING), jvm_class(spark, "headrace.probe.SharedClass").name()])
        spark.stop()
    print(json.dumps(shown))


if __name__ == "__main__":
    main(*sys.argv[1:])
