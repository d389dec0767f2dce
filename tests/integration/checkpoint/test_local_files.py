# SPDX-License-Identifier: Apache-2.0
"""Our local file system shows what Hadoop's shows, and starts no process for it."""

from __future__ import annotations

import grp
import os
import pwd
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.checkpoint.files import configuration, error_of, seen_of
from tests.integration.probes import jvm_class

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

OURS = "headrace.checkpoint.LocalFiles"
HADOOPS = "org.apache.hadoop.fs.LocalFileSystem"
CONTENT = bytes(range(256)) * 10 + b"rest"


class Local:
    """A local file system, with what the tests do to it."""

    def __init__(self, spark: SparkSession, kind: str, umask: str = "022") -> None:
        self._path = jvm_class(spark, "org.apache.hadoop.fs.Path")
        self._permission = jvm_class(spark, "org.apache.hadoop.fs.permission.FsPermission")
        self.jvm: Any = jvm_class(spark, kind)()
        root = jvm_class(spark, "java.net.URI").create("file:///")
        self.jvm.initialize(root, configuration(spark, {"fs.permissions.umask-mode": umask}))

    def path(self, path: Path | str) -> Any:  # noqa: ANN401 what py4j hands out
        return self._path(str(path))

    def permission(self, mode: str) -> Any:  # noqa: ANN401 what py4j hands out
        return self._permission(mode)

    def status(self, path: Path | str) -> dict[str, object]:
        return seen_of(self.jvm.getFileStatus(self.path(path)))

    def write(self, path: Path, content: bytes) -> None:
        stream = self.jvm.create(self.path(path), True)  # noqa: FBT003 Hadoop's
        stream.write(content)
        stream.close()

    def read(self, path: Path) -> bytes:
        stream = self.jvm.open(self.path(path))
        try:
            return bytes(stream.readAllBytes())
        finally:
            stream.close()


def created(files: Local, root: Path) -> object:
    files.write(root / "folder" / "a", CONTENT)
    modes = [oct((root / name).stat().st_mode) for name in ("folder", "folder/a", "folder/.a.crc")]
    return modes, (root / "folder" / ".a.crc").read_bytes(), files.status(root / "folder" / "a")


def made(files: Local, root: Path) -> object:
    files.jvm.mkdirs(files.path(root / "default" / "below"))
    files.jvm.mkdirs(files.path(root / "own" / "below"), files.permission("0730"))
    return [files.status(root / name) for name in ("default", "default/below", "own", "own/below")]


def changed(files: Local, root: Path) -> object:
    """Also the bits that make a folder pass its group on, and the one that guards others' files."""
    files.write(root / "a", CONTENT)
    (root / "folder").mkdir()
    (root / "folder").chmod(0o2755)
    for path, mode in ((root / "a", "0640"), (root / "folder", "1770")):
        files.jvm.setPermission(files.path(path), files.permission(mode))
    modes = [oct((root / name).stat().st_mode) for name in ("a", ".a.crc", "folder")]
    return modes, files.status(root / "folder")


def inherited(files: Local, root: Path) -> object:
    """In a folder that passes its group on, a new folder does it too."""
    root.chmod(0o2775)
    files.jvm.mkdirs(files.path(root / "team" / "checkpoint"))
    return oct((root / "team" / "checkpoint").stat().st_mode)


def owned(files: Local, root: Path) -> object:
    files.write(root / "a", CONTENT)
    user, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name
    files.jvm.setOwner(files.path(root / "a"), user, group)
    files.jvm.setOwner(files.path(root / "a"), None, group)
    nobody = error_of(lambda: files.jvm.setOwner(files.path(root / "a"), None, None))
    return files.status(root / "a"), nobody


def of_a_system(files: Local, root: Path) -> object:  # noqa: ARG001 what it looks at was there before
    return [files.status(path) for path in ("/tmp", "/", "/etc/passwd", "/dev/null")]  # noqa: S108 its sticky bit


def listed(files: Local, root: Path) -> object:
    files.write(root / "a", CONTENT)
    (root / "folder").mkdir()
    of_folder = sorted((s.getPath().getName(), str(seen_of(s))) for s in files.jvm.listStatus(files.path(root)))
    (of_file,) = files.jvm.listStatus(files.path(root / "a"))
    (raw,) = files.jvm.getRawFileSystem().listStatus(files.path(root / "a"))
    return of_folder, seen_of(of_file), seen_of(raw)


def linked(files: Local, root: Path) -> object:
    files.write(root / "a", CONTENT)
    (root / "link").symlink_to(root / "a")
    (root / "dangling").symlink_to(root / "nothing")
    seen = []
    for name in ("a", "link", "dangling"):
        status = files.jvm.getFileLinkStatus(files.path(root / name))
        target = status.getSymlink().toString().replace(str(root), "root") if status.isSymlink() else None
        # An owner of a link to nothing is not known.
        seen.append((target, status.isSymlink(), status.getLen(), status.getOwner(), status.getPermission().toString()))
    with_scheme = files.jvm.getFileLinkStatus(files.path(f"file:{root}/link")).isSymlink()
    target = files.jvm.getLinkTarget(files.path(root / "link")).toString().replace(str(root), "root")
    return seen, with_scheme, target, error_of(lambda: files.jvm.getLinkTarget(files.path(root / "a")))


def missing(files: Local, root: Path) -> object:
    files.write(root / "a", CONTENT)
    dangling = root / "dangling"
    dangling.symlink_to(root / "nothing")
    paths = (root / "nothing", root / "a" / "below", dangling)
    return [error_of(partial(files.status, path)) for path in paths]


def copied(files: Local, root: Path) -> object:
    (root / "from").write_bytes(CONTENT)
    (root / "there").mkdir()
    for target in (root / "SSTs" / "1.sst", root / "there"):
        files.jvm.copyFromLocalFile(files.path(root / "from"), files.path(target))
    files.jvm.copyToLocalFile(files.path(root / "SSTs" / "1.sst"), files.path(root / "back"))
    return sorted(str(path.relative_to(root)) for path in root.rglob("*")), (root / "back").read_bytes()


def damaged(files: Local, root: Path) -> object:
    """Its checksums are those of something else."""
    for name in ("a", "b"):
        files.write(root / name, CONTENT)
    (root / "a").write_bytes(CONTENT[:-1] + b"?")
    (root / ".b.crc").write_bytes((root / ".b.crc").read_bytes()[:-1] + b"?")
    return [error_of(partial(files.read, root / name)) for name in ("a", "b")]


DEEDS = (created, made, changed, inherited, owned, of_a_system, listed, linked, missing, copied, damaged)


@pytest.mark.parametrize("umask", ["022", "077"])
@pytest.mark.parametrize("deed", DEEDS)
def test_what_is_seen_is_the_same(
    spark: SparkSession, tmp_path: Path, deed: Callable[[Local, Path], object], umask: str
) -> None:
    """Permissions, owners, links, checksums and errors, under either umask of Hadoop's."""
    seen = []
    for kind in (OURS, HADOOPS):
        root = tmp_path / kind
        root.mkdir()
        seen.append(deed(Local(spark, kind, umask), root))
    assert seen[0] == seen[1]


def test_damage_is_noticed(spark: SparkSession, tmp_path: Path) -> None:
    assert damaged(Local(spark, OURS), tmp_path) == ["org.apache.hadoop.fs.ChecksumException"] * 2


@pytest.mark.parametrize("kind", [OURS, HADOOPS])
@pytest.mark.parametrize("deed", DEEDS)
def test_only_hadoops_starts_processes(
    spark: SparkSession, tmp_path: Path, deed: Callable[[Local, Path], object], kind: str
) -> None:
    files = Local(spark, kind)
    events = jvm_class(spark, "headrace.probe.JvmEvents")()
    deed(files, tmp_path)
    commands = {Path(command.split()[0]).name for command in events.processes()}
    if kind == OURS:
        assert commands == set()
    elif deed is not missing:
        assert commands & {"chmod", "ls", "chown", "readlink"}


def test_a_copied_file_is_durable(spark: SparkSession, tmp_path: Path) -> None:
    """A snapshot's list names its files; they must not be lost when the list is not."""
    (tmp_path / "from").write_bytes(CONTENT)
    files = Local(spark, OURS)
    events = jvm_class(spark, "headrace.probe.JvmEvents")()
    files.jvm.copyFromLocalFile(files.path(tmp_path / "from"), files.path(tmp_path / "SSTs" / "1.sst"))
    synced = [str(Path(path).relative_to(tmp_path)) for path in events.synced()]
    assert synced == [".", "SSTs/1.sst", "SSTs/.1.sst.crc", "SSTs"]
