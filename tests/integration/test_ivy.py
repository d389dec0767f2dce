# SPDX-License-Identifier: Apache-2.0
"""The wheel's real Ivy, fetching from a folder instead of the network."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from headrace.engine.ivy import resolve
from headrace.errors import ResolveError

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = """
<ivysettings>
  <settings defaultResolver="folder"/>
  <resolvers>
    <filesystem name="folder"><artifact pattern="{folder}/[artifact]-[revision].[ext]"/></filesystem>
  </resolvers>
</ivysettings>
"""


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that Ivy fetches from, holding kafka-clients; the cache is empty."""
    folder = tmp_path / "mirror"
    folder.mkdir()
    for jar in resolve("kafka-clients"):
        (folder / jar.name).symlink_to(jar)
    settings = tmp_path / "settings.xml"
    settings.write_text(SETTINGS.format(folder=folder))
    monkeypatch.setenv("HEADRACE_IVY_SETTINGS", str(settings))
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return folder


def test_processes_that_need_a_bundle_at_once_fetch_it_once(mirror: Path) -> None:
    del mirror
    program = "from headrace.engine.ivy import resolve; print(*resolve('kafka-clients'))"
    processes = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    answers = [process.communicate(timeout=60) for process in processes]
    assert all(process.returncode == 0 for process in processes)
    assert len({out for out, _ in answers}) == 1
    assert "".join(err for _, err in answers).count("fetching 1 jars of kafka-clients") == 1


def test_a_jar_that_the_mirror_lacks_is_named(mirror: Path) -> None:
    (jar,) = mirror.iterdir()
    jar.unlink()
    with pytest.raises(ResolveError, match="kafka-clients"):
        resolve("kafka-clients")
