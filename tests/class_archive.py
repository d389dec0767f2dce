# SPDX-License-Identifier: Apache-2.0
"""Makes an archive of Spark's classes, with which each of the many JVMs of the tests starts in two thirds of the time.

    python tests/class_archive.py build/spark-classes.jsa

A JVM that the archive does not fit (another Java, another class path) starts without it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession


def main(archive: Path) -> None:
    """Runs a batch and a stream, so that their classes are in the archive that the JVM writes at its end."""
    archive.parent.mkdir(exist_ok=True)
    # Without -Xlog:disable it lists a thousand classes that cannot be archived.
    os.environ["JAVA_TOOL_OPTIONS"] = f"-XX:ArchiveClassesAtExit={archive} -Xlog:disable"
    conf: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
    }
    spark = SparkSession.builder.master("local[2]").config(map=conf).getOrCreate()
    spark.range(10).groupBy("id").count().collect()
    rows = spark.readStream.format("rate").load().groupBy("value").count()
    query = rows.writeStream.format("noop").outputMode("update").trigger(availableNow=True).start()
    query.awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
