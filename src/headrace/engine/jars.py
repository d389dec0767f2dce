# SPDX-License-Identifier: Apache-2.0
"""The jars that a Spark application with Headrace needs: ours, and the libraries it uses."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

from headrace.engine.ivy import resolve
from headrace.errors import EngineMismatchError, EngineMissingError

ENGINE_JAR = Path(__file__).parent / "jars" / "headrace-engine.jar"
"""Where ``engine/build.py`` puts the engine jar and where a wheel carries it."""

LIBRARIES = ("kafka-clients", "hdr-histogram")
"""What the engine uses, by the names of the locks: Kafka's client, and histograms of latency."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stamp:
    """What an engine jar says of itself in its manifest.

    Attributes:
        version: The Headrace it belongs to.
        spark_version: The Spark it was compiled against.
        source_hash: The hash of everything that went into it; ``engine/build.py`` computes it.
    """

    version: str
    spark_version: str
    source_hash: str

    def manifest(self) -> str:
        """Returns the stamp as the text of ``META-INF/MANIFEST.MF``."""
        lines = (
            "Manifest-Version: 1.0",
            f"Headrace-Version: {self.version}",
            f"Headrace-Spark-Version: {self.spark_version}",
            f"Headrace-Source-Hash: {self.source_hash}",
        )
        return "".join(f"{line}\r\n" for line in (*lines, ""))


def read_stamp(jar: Path) -> Stamp | None:
    """Reads a jar's stamp; ``None`` when there is no such jar or it carries no whole stamp."""
    try:
        with zipfile.ZipFile(jar) as archive:
            text = archive.read("META-INF/MANIFEST.MF").decode()
    except (FileNotFoundError, KeyError, zipfile.BadZipFile):
        return None
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    try:
        return Stamp(
            version=fields["Headrace-Version"],
            spark_version=fields["Headrace-Spark-Version"],
            source_hash=fields["Headrace-Source-Hash"],
        )
    except KeyError:
        return None


def engine_jar() -> Path:
    """Returns the engine jar, once it is known to fit the installed Spark.

    Raises:
        EngineMissingError: There is no engine jar.
        EngineMismatchError: It was built for another Spark version than the installed one.
    """
    # Imported here: the build backend reads stamps where no PySpark is installed.
    import pyspark  # noqa: PLC0415

    stamp = read_stamp(ENGINE_JAR)
    if stamp is None:
        raise EngineMissingError(ENGINE_JAR)
    if stamp.spark_version != pyspark.__version__:
        raise EngineMismatchError(built_for=stamp.spark_version, running=pyspark.__version__)
    return ENGINE_JAR


def library_jars() -> list[Path]:
    """Returns the jars that the engine uses and Spark does not bring along, fetching them on first use.

    Raises:
        ResolveError: They are not in the cache and could not be fetched.
        ChecksumError: A jar is not the one that was pinned.
        JavaMissingError: They have to be fetched and there is no Java to do it.
    """
    return [jar for bundle in LIBRARIES for jar in resolve(bundle)]
