# SPDX-License-Identifier: Apache-2.0
"""The files of a checkpoint, through the file manager of either side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

from tests.integration.probes import jvm_class

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

OURS = "headrace.checkpoint.CheckpointFiles"
SPARKS = "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager"
SETTING = "spark.sql.streaming.checkpointFileManagerClass"

EITHER = pytest.mark.parametrize("kind", [OURS, SPARKS], ids=["ours", "spark's"])


class Files:
    """A file manager, with what the tests do to it.

    Args:
        spark: Where it lives.
        kind: Its class.
        root: The folder, or the address, that it is made for.
        conf: Settings of Hadoop's.
    """

    def __init__(self, spark: SparkSession, kind: str, root: Path | str, conf: Mapping[str, str] | None = None) -> None:
        self._path = jvm_class(spark, "org.apache.hadoop.fs.Path")
        self._glob = jvm_class(spark, "org.apache.hadoop.fs.GlobFilter")
        self.jvm: Any = jvm_class(spark, kind)(self.path(root), configuration(spark, conf or {}))

    def path(self, path: Path | str) -> Any:  # noqa: ANN401 what py4j hands out
        """Returns a path as Hadoop has it."""
        return self._path(str(path))

    def begin(self, path: Path | str, content: bytes, *, overwrite: bool = False) -> Any:  # noqa: ANN401
        """Writes a file and leaves it open."""
        stream = self.jvm.createAtomic(self.path(path), overwrite)
        stream.write(content)
        return stream

    def write(self, path: Path | str, content: bytes, *, overwrite: bool = False) -> None:
        """Writes a file."""
        self.begin(path, content, overwrite=overwrite).close()

    def read(self, path: Path | str) -> bytes:
        """Reads a file."""
        stream = self.jvm.open(self.path(path))
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()

    def list(self, folder: Path | str, pattern: str = "*") -> list[Any]:
        """Lists the files whose names match, by name."""
        found = self.jvm.list(self.path(folder), self._glob(pattern))
        return sorted(found, key=lambda status: str(status.getPath().getName()))


def configuration(spark: SparkSession, conf: Mapping[str, str]) -> Any:  # noqa: ANN401 what py4j hands out
    """Makes a configuration of Hadoop's."""
    hadoop = jvm_class(spark, "org.apache.hadoop.conf.Configuration")()
    for key, value in conf.items():
        hadoop.set(key, value)
    return hadoop


def seen_of(status: Any) -> dict[str, object]:  # noqa: ANN401 what py4j hands out
    """What a status tells of a file, without its name and its times."""
    return {
        "length": status.getLen(),
        "directory": status.isDirectory(),
        "link": status.isSymlink(),
        "permission": status.getPermission().toString(),
        "owner": status.getOwner(),
        "group": status.getGroup(),
        "replication": status.getReplication(),
        "block": status.getBlockSize(),
    }


def error_of(call: Callable[[], object]) -> str:
    """The class of the exception with which a call into the JVM ends."""
    with pytest.raises(Py4JJavaError) as failed:
        call()
    name: str = failed.value.java_exception.getClass().getName()
    return name


def unload_state(spark: SparkSession) -> None:
    """Makes Spark forget the state it has in memory, so that the next query reads that of its checkpoint."""
    stores = jvm_class(spark, "org.apache.spark.sql.execution.streaming.state.StateStore$")
    # Not its stop(): that waits for whatever it does in the background, for minutes if need be.
    getattr(stores, "MODULE$").unloadAll()


def names_in(folder: Path) -> list[str]:
    """All that is in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())
