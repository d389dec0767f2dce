# SPDX-License-Identifier: Apache-2.0
"""Fetches pinned jars with the Ivy inside the PySpark wheel, into a cache of the user's.

A *bundle* is a lock file under ``locks/``: every jar by coordinates and SHA-256. ``engine/lock.py`` writes them. Once a
jar is in the cache, it takes neither the network nor a JVM to use it; its hash is compared on every use all the same.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from headrace.engine.cache import cache_folder, exclusive
from headrace.engine.java import find_java
from headrace.errors import ChecksumError, ResolveError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LOCKS = Path(__file__).parent / "locks"

# Ivy's default settings would read the POM of every jar and of all its parents, and fetch a checksum for each: that was
# 34 s for the broker, against 5 s so. The lock already says which jars and which hashes. No `root`: Ivy's own default.
_SETTINGS = """\
<ivysettings>
  <property name="ivy.checksums" value=""/>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true" usepoms="false"/></resolvers>
</ivysettings>
"""


@dataclass(frozen=True, slots=True)
class PinnedJar:
    """One line of a lock file."""

    organisation: str
    name: str
    version: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The jar's file name, as in a Maven repository."""
        return f"{self.name}-{self.version}.jar"

    def __str__(self) -> str:
        """The line as the lock file has it."""
        return f"{self.organisation}:{self.name}:{self.version} {self.sha256}"


def resolve(bundle: str | Path) -> list[Path]:
    """Returns the jars of a bundle, fetching those that the cache lacks.

    Safe when several processes do it at once: one fetches, the others wait for it.

    Args:
        bundle: ``kafka-clients``, ``hdr-histogram`` or ``kafka-broker``, or the path of another lock file.

    Returns:
        The jars' paths, in the order of the lock file.

    Raises:
        ResolveError: A jar could not be fetched.
        ChecksumError: A jar is not the one that was pinned.
        JavaMissingError: A jar has to be fetched and there is no Java to do it.
    """
    pinned = read_lock(bundle)
    cache = cache_folder("jars")
    if _missing(pinned, cache):
        with exclusive(cache / ".lock"):
            # Asked again: the process that held the lock before us may have fetched them.
            missing = _missing(pinned, cache)
            if missing:
                _fetch(bundle if isinstance(bundle, str) else bundle.stem, missing, cache)
    paths = [cache / jar.file_name for jar in pinned]
    for jar, path in zip(pinned, paths, strict=True):
        _verify(jar, path)
    return paths


def read_lock(bundle: str | Path) -> list[PinnedJar]:
    """Reads a bundle's lock file."""
    path = bundle if isinstance(bundle, Path) else LOCKS / f"{bundle}.lock"
    text = path.read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return [_parse(line) for line in lines]


def spark_jars_folder() -> Path:
    """Returns the folder of Spark's own jars, without the cost of importing PySpark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        message = "pyspark is a dependency of headrace, but it is not installed"
        raise ModuleNotFoundError(message, name="pyspark")
    return Path(spec.origin).parent / "jars"


def run_ivy(arguments: Sequence[str], on_line: Callable[[str], None]) -> int:
    """Runs the wheel's Ivy and hands on what it prints, line by line.

    Args:
        arguments: Ivy's own command line.
        on_line: Called with every line, without its end.

    Returns:
        Ivy's exit code.
    """
    jar = next(spark_jars_folder().glob("ivy-*.jar"))
    command = [str(find_java()), "-XX:TieredStopAtLevel=1", "-jar", str(jar), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            on_line(line.rstrip())
    return process.returncode


def _parse(line: str) -> PinnedJar:
    coordinates, sha256 = line.split()
    organisation, name, version = coordinates.split(":")
    return PinnedJar(organisation, name, version, sha256)


def _missing(pinned: Sequence[PinnedJar], cache: Path) -> list[PinnedJar]:
    return [jar for jar in pinned if not (cache / jar.file_name).exists()]


def _verify(jar: PinnedJar, path: Path) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != jar.sha256:
        raise ChecksumError(path, wanted=jar.sha256, found=found)


def _fetch(bundle: str, jars: Sequence[PinnedJar], cache: Path) -> None:
    """Fetches jars into a folder next to their place and moves each in whole, once its hash is right."""
    said: list[str] = []
    with tempfile.TemporaryDirectory(dir=cache, prefix="fetch-") as folder, _progress(bundle, len(jars)) as advance:
        work = Path(folder)
        (work / "ivy.xml").write_text(_module(jars), encoding="utf-8")
        (work / "settings.xml").write_text(_SETTINGS, encoding="utf-8")

        def note(line: str) -> None:
            said.append(line)
            if "[SUCCESSFUL ]" in line:
                advance()

        code = run_ivy(
            [
                *("-settings", os.environ.get("HEADRACE_IVY_SETTINGS") or str(work / "settings.xml")),
                *("-ivy", str(work / "ivy.xml")),
                *("-cache", str(work / "cache")),
                *("-types", "jar", "bundle"),
                *("-retrieve", str(work / "out" / "[artifact]-[revision].[ext]")),
            ],
            note,
        )
        fetched = [work / "out" / jar.file_name for jar in jars]
        if code != 0 or not all(path.exists() for path in fetched):
            raise ResolveError(bundle, cache, _reason(said))
        for jar, path in zip(jars, fetched, strict=True):
            _verify(jar, path)
            path.replace(cache / jar.file_name)


def _module(jars: Sequence[PinnedJar]) -> str:
    dependencies = "\n".join(
        f"    <dependency org={quoteattr(jar.organisation)} name={quoteattr(jar.name)} rev={quoteattr(jar.version)}"
        ' transitive="false"/>'
        for jar in jars
    )
    return (
        '<ivy-module version="2.0">\n  <info organisation="headrace" module="bundle"/>\n'
        f"  <dependencies>\n{dependencies}\n  </dependencies>\n</ivy-module>\n"
    )


def _reason(said: Sequence[str]) -> str:
    """Picks the line of Ivy's output that says most: the network's own error, else the first missing module."""
    for sign in ("Server access error", "unresolved dependency", "Exception"):
        for line in said:
            if sign in line:
                return line.strip(" \t:")
    return said[-1].strip(" \t:") if said else "the resolver said nothing"


@contextlib.contextmanager
def _progress(bundle: str, total: int) -> Iterator[Callable[[], None]]:
    """Shows on stderr how far a download is: a bar on a terminal, else one line, so that a log explains the wait."""
    # Imported here: a download happens once per machine, an import of this file in every application.
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    if not sys.stderr.isatty():
        sys.stderr.write(f"headrace: fetching {total} jars of {bundle} (once per machine)\n")
        yield lambda: None
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"fetching {bundle} (once per machine)", total=total)
        yield lambda: progress.advance(task)
