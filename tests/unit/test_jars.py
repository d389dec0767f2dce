# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pyspark
import pytest

from headrace.engine import jars
from headrace.engine.jars import Stamp, engine_jar, read_stamp
from headrace.errors import EngineMismatchError, EngineMissingError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of the engine jar, without one."""
    path = tmp_path / "headrace-engine.jar"
    monkeypatch.setattr(jars, "ENGINE_JAR", path)
    return path


def write(jar: Path, spark_version: str) -> Stamp:
    stamp = Stamp(version="1.2.3", spark_version=spark_version, source_hash="0123456789abcdef" * 2)
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", stamp.manifest())
    return stamp


def test_a_stamp_reads_back_as_it_was_written(jar: Path) -> None:
    assert write(jar, "4.3.0") == read_stamp(jar)


def test_a_manifest_keeps_to_the_line_length_that_java_allows(jar: Path) -> None:
    assert max(map(len, write(jar, "4.3.0").manifest().split("\r\n"))) <= 72


def test_a_jar_for_the_installed_spark_is_returned(jar: Path) -> None:
    write(jar, pyspark.__version__)
    assert engine_jar() == jar


def test_a_jar_for_another_spark_is_refused(jar: Path) -> None:
    write(jar, "4.2.9")
    with pytest.raises(EngineMismatchError) as caught:
        engine_jar()
    assert caught.value.parameters == {"built_for": "4.2.9", "running": pyspark.__version__}


def test_a_missing_jar_is_named(jar: Path) -> None:
    with pytest.raises(EngineMissingError, match=str(jar)):
        engine_jar()


@pytest.mark.parametrize("content", [b"", b"not a zip file"])
def test_a_broken_jar_counts_as_missing(jar: Path, content: bytes) -> None:
    jar.write_bytes(content)
    with pytest.raises(EngineMissingError):
        engine_jar()


def test_a_jar_without_a_stamp_counts_as_missing(jar: Path) -> None:
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\n\r\n")
    with pytest.raises(EngineMissingError):
        engine_jar()
