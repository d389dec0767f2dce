# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[2] / "engine" / "check_tools.py"


def check(java_home: Path) -> subprocess.CompletedProcess[str]:
    environment = {"JAVA_HOME": str(java_home), "PATH": ""}
    return subprocess.run(
        [sys.executable, CHECK], env=environment, capture_output=True, text=True, check=False, timeout=30
    )


def put_java(home: Path, says: str) -> None:
    java = home / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    java.chmod(0o755)


@pytest.mark.parametrize("version", ["17.0.15", "21", "25-ea"])
def test_a_java_from_17_on_will_do(tmp_path: Path, version: str) -> None:
    put_java(tmp_path, f'openjdk version "{version}" 2025-04-15')
    done = check(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("says", "trouble"),
    [
        ('openjdk version "11.0.2" 2019-01-15', "is version 11, but 17 or newer is needed"),
        ('java version "1.8.0_392"', "is version 1, but 17 or newer is needed"),
        ("No Java runtime present, requesting install.", "does not start"),
    ],
)
def test_a_wrong_java_is_named_in_one_line_with_the_remedy(tmp_path: Path, says: str, trouble: str) -> None:
    put_java(tmp_path, says)
    done = check(tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert trouble in line
    assert "install a JDK 17" in line


def test_a_missing_java_is_named_in_one_line_with_the_remedy(tmp_path: Path) -> None:
    done = check(tmp_path)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert f"no java in JAVA_HOME={tmp_path}; install a JDK 17" in line
