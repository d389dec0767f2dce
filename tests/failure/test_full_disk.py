# SPDX-License-Identifier: Apache-2.0
"""The disk of the checkpoint is full for a while."""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from headrace.testing import eventually
from tests.failure.copies import Copies
from tests.integration.recorded import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from headrace.testing import Kafka

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk"),
]
DISK = "64m"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, and a small one."""
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", place], check=True)
    yield place
    subprocess.run(["/bin/umount", "--lazy", place], check=True)


def fill(disk: Path) -> Path:
    """Leaves no room, not for one byte."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    assert os.statvfs(disk).f_bavail == 0
    return filler


@pytest.mark.parametrize(
    "words",
    [pytest.param((), marks=pytest.mark.soak), pytest.param(("exactly-once",), marks=pytest.mark.soak), ("counted",)],
    ids=["plain", "exactly once", "counted"],
)
def test_the_query_fails_clearly_and_goes_on_when_there_is_room(
    kafka: Kafka, disk: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """Each short epoch writes to the checkpoint. A count that was lost or done twice would show."""
    copies = Copies(kafka, disk, *words, log=tmp_path / "log")
    committed = "exactly-once" in words
    values = [f"value {number}" for number in range(20)]
    try:
        run = copies.start(epoch="1s")
        kafka.produce(copies.source, values[:10])
        copies.await_all(values[:10], committed=committed)
        filler = fill(disk)
        kafka.produce(copies.source, values[10:])
        eventually(lambda: run.poll() is not None, PATIENCE * 2)
        assert run.returncode == 1
        assert "No space left on device" in copies.log()
        filler.unlink()
        copies.start(epoch="1s")
        kafka.produce(copies.source, ["last"])
        counts = copies.await_all([*values, "last"], committed=committed)
        # A record counted twice would have come out with another count, and not as itself.
        assert set(counts) == {value.encode() for value in [*values, "last"]}
        assert not committed or set(counts.values()) == {1}
    finally:
        copies.end()
