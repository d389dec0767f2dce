# SPDX-License-Identifier: Apache-2.0
"""Our file manager for local checkpoints gives what Spark's own gives."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import IllegalArgumentException

from tests.integration.checkpoint.files import EITHER, OURS, SPARKS, Files, error_of, names_in, seen_of
from tests.integration.probes import jvm_class

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

# Several of the blocks of 512 bytes that have a checksum each, and a part of one.
CONTENT = bytes(range(256)) * 10 + b"rest"
TAKEN = "org.apache.hadoop.fs.FileAlreadyExistsException"


def written(files: Files, root: Path) -> object:
    files.write(root / "a", CONTENT)
    return files.read(root / "a"), names_in(root), (root / ".a.crc").read_bytes()


def overwritten(files: Files, root: Path) -> object:
    files.write(root / "a", b"old")
    files.write(root / "a", CONTENT, overwrite=True)
    return files.read(root / "a"), names_in(root), (root / ".a.crc").read_bytes()


def empty(files: Files, root: Path) -> object:
    files.write(root / "a", b"")
    return files.read(root / "a"), names_in(root), (root / ".a.crc").read_bytes()


def refused(files: Files, root: Path) -> object:
    files.write(root / "a", CONTENT)
    return error_of(lambda: files.write(root / "a", b"other")), files.read(root / "a")


def cancelled(files: Files, root: Path) -> object:
    stream = files.begin(root / "a", CONTENT)
    during = files.jvm.exists(files.path(root / "a"))
    stream.cancel()
    stream.close()
    return during, names_in(root)


def unfinished(files: Files, root: Path) -> object:
    """The file has its temporary name, which a listing shows and Hadoop's hidden files do not."""
    stream = files.begin(root / "1", CONTENT)
    (name,) = (status.getPath().getName() for status in files.list(root))
    stream.close()
    # The part in the middle is different each time.
    parts = name.split(".")
    return parts[:2], len(parts[2]), parts[3:]


def listed(files: Files, root: Path) -> object:
    (root / "folder").mkdir()
    for name in ("1", "2.zip", "3.zip", ".hidden"):
        files.write(root / name, CONTENT)
    all_of_it = [(status.getPath().getName(), seen_of(status)) for status in files.list(root)]
    return all_of_it, [status.getPath().getName() for status in files.list(root, "*.zip")]


def qualified(files: Files, root: Path) -> object:
    files.write(root / "a", b"")
    (status,) = files.list(root)
    return status.getPath().toString().replace(str(root), "root"), files.jvm.isLocal()


def folders(files: Files, root: Path) -> object:
    files.jvm.mkdirs(files.path(root / "one" / "two"))
    files.jvm.mkdirs(files.path(root / "one" / "two"))
    files.write(root / "one" / "file", b"")
    inside = error_of(lambda: files.jvm.mkdirs(files.path(root / "one" / "file" / "three")))
    instead = error_of(lambda: files.jvm.mkdirs(files.path(root / "one" / "file")))
    modes = [oct((root / name).stat().st_mode) for name in ("one", "one/two", "one/file", "one/.file.crc")]
    return modes, inside, instead


def deleted(files: Files, root: Path) -> object:
    (root / "folder").mkdir()
    for name in ("a", "b", "folder/c"):
        files.write(root / name, CONTENT)
    for name in ("a", "folder", "missing"):
        files.jvm.delete(files.path(root / name))
    return names_in(root), files.jvm.exists(files.path(root / "a")), files.jvm.exists(files.path(root / "b"))


def missing(files: Files, root: Path) -> object:
    return [
        error_of(lambda: files.read(root / "a")),
        error_of(lambda: files.list(root / "folder")),
        error_of(lambda: files.begin(root / "folder" / "a", b"")),
        names_in(root),
    ]


def edited(files: Files, root: Path) -> object:
    """Some change or take out an entry of a log by hand, and do not see the hidden file with its checksums."""
    for name in ("a", "b"):
        files.write(root / name, CONTENT)
    (root / "a").write_bytes(b"edited")
    (root / "b").unlink()
    return files.read(root / "a")


def checkpoint_folder(files: Files, root: Path) -> object:
    root.rmdir()
    return files.jvm.createCheckpointDirectory().toString().replace(str(root), "root"), root.is_dir()


DEEDS = (
    written, overwritten, empty, refused, cancelled, unfinished, listed, qualified, folders, deleted, missing, edited,
    checkpoint_folder,
)  # fmt: skip


@pytest.mark.parametrize("umask", ["022", "077"])
@pytest.mark.parametrize("deed", DEEDS)
def test_what_is_seen_is_the_same(
    spark: SparkSession, tmp_path: Path, deed: Callable[[Files, Path], object], umask: str
) -> None:
    """Contents, names, hidden checksums, permissions, listings and errors, under either umask of Hadoop's."""
    seen = []
    for kind in (OURS, SPARKS):
        root = tmp_path / kind
        root.mkdir()
        seen.append(deed(Files(spark, kind, root, {"fs.permissions.umask-mode": umask}), root))
    assert seen[0] == seen[1]


@EITHER
def test_a_path_without_a_scheme_is_one_of_the_default_file_system(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    """As in Spark: what the default file system is, decides."""
    local = Files(spark, kind, tmp_path, {"fs.defaultFS": "file:///"})
    assert local.jvm.isLocal()
    viewed = {"fs.defaultFS": "viewfs://view/", "fs.viewfs.mounttable.view.link./data": f"file:{tmp_path}"}
    elsewhere = Files(spark, kind, "/data", viewed)
    assert not elsewhere.jvm.isLocal()
    elsewhere.write("/data/a", CONTENT)
    assert (tmp_path / "a").read_bytes() == CONTENT


def test_another_file_system_keeps_sparks_own_file_manager(spark: SparkSession, tmp_path: Path) -> None:
    """By its address, and for somebody who has replaced the local one that Spark's file manager uses."""
    viewed = Files(spark, OURS, "viewfs://view/data", {"fs.viewfs.mounttable.view.link./data": f"file:{tmp_path}"})
    viewed.write("viewfs://view/data/a", CONTENT)
    assert viewed.read("viewfs://view/data/a") == CONTENT
    assert not viewed.jvm.isLocal()
    without_sums = {"fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs"}
    Files(spark, OURS, tmp_path, without_sums).write(tmp_path / "b", CONTENT)
    assert not (tmp_path / ".b.crc").exists()


@EITHER
def test_of_writers_at_the_same_time_the_others_get_an_error(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """The class of the error is the one by which Spark knows that two queries share a checkpoint."""
    files = Files(spark, kind, tmp_path)
    # Spark's own looks first and moves then; there, those who close one after the other are the most that can be asked.
    rounds, writers = (50, 4) if kind == OURS else (1, 1)
    for number in range(rounds):
        race = jvm_class(spark, "headrace.probe.FileRace")
        outcomes = list(race.run(files.jvm, files.path(tmp_path / f"{number}"), writers))
        (winner,) = (outcome for outcome in outcomes if outcome.isdigit())
        assert sorted(outcomes) == sorted([winner, *[TAKEN] * (writers - 1)])
        assert files.read(tmp_path / f"{number}") == winner.encode()
        assert error_of(partial(files.write, tmp_path / f"{number}", b"late")) == TAKEN
    if kind == OURS:
        assert names_in(tmp_path) == sorted(f for n in range(rounds) for f in (f"{n}", f".{n}.crc"))


def test_checksums_that_were_left_behind_do_not_damage_a_new_file(spark: SparkSession, tmp_path: Path) -> None:
    """Who takes an entry out of a log by hand may leave its hidden file."""
    files = Files(spark, OURS, tmp_path)
    files.write(tmp_path / "a", b"old")
    (tmp_path / "a").unlink()
    files.write(tmp_path / "a", CONTENT)
    assert files.read(tmp_path / "a") == CONTENT


def test_a_file_that_another_run_has_removed_says_so(spark: SparkSession, tmp_path: Path) -> None:
    """A run that begins removes what an earlier one left half written; that one may only have stood still."""
    files = Files(spark, OURS, tmp_path)
    stream = files.begin(tmp_path / "1", CONTENT)
    for half_written in tmp_path.glob(".*.tmp*"):
        half_written.unlink()
    with pytest.raises(IllegalArgumentException) as failed:
        stream.close()
    assert failed.value.getCondition() == "CHECKPOINT_TAKEN_OVER"
    assert names_in(tmp_path) == []
