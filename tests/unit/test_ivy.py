# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from headrace.engine import ivy
from headrace.errors import ChecksumError, JavaMissingError, ResolveError

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = b"not really a jar"


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A bundle of one jar, and an empty cache."""
    pinned = ivy.PinnedJar("org.example", "thing", "1.0", hashlib.sha256(CONTENT).hexdigest())
    (tmp_path / "things.lock").write_text(f"# a comment\n{pinned}\n")
    monkeypatch.setattr(ivy, "LOCKS", tmp_path)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return "things"


@pytest.fixture
def cached_jar(bundle: str, tmp_path: Path) -> Path:
    """The bundle's jar, where an earlier download would have left it."""
    del bundle
    path = tmp_path / "cache" / "jars" / "thing-1.0.jar"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    return path


def put_java(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Puts a shell script in the place of Java, to stand for an Ivy that fails."""
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(folder))


@pytest.mark.parametrize("name", ["kafka-clients", "hdr-histogram", "kafka-broker"])
def test_every_line_of_our_locks_pins_one_jar_by_its_sha256(name: str) -> None:
    pinned = ivy.read_lock(name)
    assert pinned
    assert all(len(bytes.fromhex(jar.sha256)) == hashlib.sha256().digest_size for jar in pinned)
    assert len({jar.file_name for jar in pinned}) == len(pinned)


def test_both_bundles_have_the_same_kafka() -> None:
    (client,) = ivy.read_lock("kafka-clients")
    assert client in ivy.read_lock("kafka-broker")


def test_a_cached_jar_needs_neither_java_nor_network(
    bundle: str, cached_jar: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    assert ivy.resolve(bundle) == [cached_jar]


def test_a_changed_jar_is_refused(bundle: str, cached_jar: Path) -> None:
    cached_jar.write_bytes(b"something else")
    with pytest.raises(ChecksumError, match=cached_jar.name):
        ivy.resolve(bundle)


def test_a_download_without_java_says_so(bundle: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(JavaMissingError):
        ivy.resolve(bundle)


def test_a_failed_download_names_the_network_error_and_leaves_nothing(
    bundle: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_java(tmp_path, monkeypatch, "echo 'Server access error: no route to host'; echo 'unresolved'; exit 1")
    with pytest.raises(ResolveError, match="no route to host") as caught:
        ivy.resolve(bundle)
    assert caught.value.parameters["bundle"] == bundle
    assert [path.name for path in (tmp_path / "cache" / "jars").iterdir()] == [".lock"]


def test_a_download_that_brings_another_jar_is_refused_and_not_kept(
    bundle: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The last argument is where Ivy puts what it fetched.
    place = 'for last; do :; done; folder=$(dirname "$last"); mkdir -p "$folder"'
    put_java(tmp_path, monkeypatch, f'{place}; echo forged > "$folder/thing-1.0.jar"')
    with pytest.raises(ChecksumError):
        ivy.resolve(bundle)
    assert not (tmp_path / "cache" / "jars" / "thing-1.0.jar").exists()
