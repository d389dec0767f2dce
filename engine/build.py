# SPDX-License-Identifier: Apache-2.0
"""Compiles the engine with the Scala compiler inside the PySpark wheel, so that it matches the Spark that runs it.

    python engine/build.py            src/headrace/engine/jars/headrace-engine.jar
    python engine/build.py --tests    also build/headrace-engine-tests.jar, from engine/src/test

A jar whose stamp shows that nothing changed is left alone.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

sys.path.insert(0, str(ROOT / "src"))  # The build backend loads this file where headrace is not installed yet.

from headrace import __version__  # noqa: E402
from headrace.engine.ivy import LOCKS, spark_jars_folder  # noqa: E402
from headrace.engine.jars import ENGINE_JAR, LIBRARIES, Stamp, library_jars, read_stamp  # noqa: E402
from headrace.engine.java import find_java  # noqa: E402
from headrace.errors import HeadraceError  # noqa: E402

TESTS_JAR = ROOT / "build" / "headrace-engine-tests.jar"

SCALAC_OPTIONS = ("-Werror", "-Xlint", "-deprecation", "-feature", "-unchecked", "-release", "17", "-encoding", "utf8")


@dataclass(frozen=True, kw_only=True, slots=True)
class Module:
    """A source tree and the jar that is made of it.

    Attributes:
        sources: The tree.
        jar: The jar.
        needs: Jars that it is compiled against.
        packages: Python packages that travel inside the jar, by the name that they have there.
    """

    sources: Path
    jar: Path
    needs: tuple[Path, ...] = ()
    packages: dict[str, Path] = field(default_factory=dict)

    def files(self) -> dict[str, Path]:
        """Returns what is packed as it is, by its name in the jar."""
        resources = self.sources / "resources"
        files = {path.relative_to(resources).as_posix(): path for path in resources.rglob("*") if path.is_file()}
        for name, folder in self.packages.items():
            files |= {f"{name}/{path.relative_to(folder).as_posix()}": path for path in folder.rglob("*.py")}
        return files


MAIN = Module(
    sources=ROOT / "engine" / "src" / "main",
    jar=ENGINE_JAR,
    # Executors have the jar, but no installation of ours.
    packages={"headrace_worker": ROOT / "src" / "headrace" / "worker"},
)
TESTS = Module(sources=ROOT / "engine" / "src" / "test", jar=TESTS_JAR, needs=(ENGINE_JAR,))


def main() -> int:
    """Builds what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", action="store_true", help="also build the tests' probes")
    arguments = parser.parse_args()
    try:
        # `or` stops at the first failure: the tests' probes need the engine.
        return build(MAIN) or (arguments.tests and build(TESTS)) or 0
    except HeadraceError as error:
        return _fail(str(error))


def build(module: Module) -> int:
    """Builds a module's jar unless it is fresh; returns an exit code."""
    if not scala_files(module):
        # Without sources there must be no jar either: an old one would pass for the engine.
        module.jar.unlink(missing_ok=True)
        sys.stderr.write(f"engine: no Scala sources under {module.sources.relative_to(ROOT)}, so no jar\n")
        return 0
    stamp = fresh_stamp(module, spark_version())
    if read_stamp(module.jar) == stamp:
        return 0
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as classes:
        code = compile_scala(module, Path(classes))
        if code != 0:
            return _fail(f"scalac ended with {code}")
        write_jar(module, Path(classes), stamp)
    sys.stderr.write(f"engine: {module.jar.relative_to(ROOT)} in {time.monotonic() - started:.0f} s\n")
    return 0


def fresh_stamp(module: Module, spark_version: str) -> Stamp:
    """Computes the stamp that a jar of these very sources for that Spark must carry."""
    digest = hashlib.sha256(repr((__version__, spark_version, SCALAC_OPTIONS)).encode())
    for library in LIBRARIES:
        digest.update((LOCKS / f"{library}.lock").read_bytes())
    sources = {path.relative_to(module.sources).as_posix(): path for path in module.sources.glob("scala/**/*.scala")}
    for name, path in sorted((sources | module.files()).items()):
        digest.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    for needed in module.needs:
        digest.update(repr(read_stamp(needed)).encode())
    # Half of the digits: a line of a manifest may have 72 bytes.
    return Stamp(version=__version__, spark_version=spark_version, source_hash=digest.hexdigest()[:32])


def spark_version() -> str:
    """Returns the version of the Spark to compile against, from the name of its core jar."""
    core = next(spark_jars_folder().glob("spark-core_2.13-*.jar"))
    return core.stem.removeprefix("spark-core_2.13-")


def scala_files(module: Module) -> list[str]:
    """Lists the module's Scala sources."""
    return sorted(str(path) for path in module.sources.glob("scala/**/*.scala"))


def compile_scala(module: Module, classes: Path) -> int:
    """Compiles the module's Scala into a folder; returns scalac's exit code."""
    spark = spark_jars_folder()
    compiler = [str(next(spark.glob(f"scala-{part}-2.13.*.jar"))) for part in ("compiler", "library", "reflect")]
    class_path = [f"{spark}/*", *map(str, library_jars()), *map(str, module.needs)]
    # A compiler's run is too short for the JVM's second compiler: with it, ours takes more than twice the CPU time.
    jvm = ("-Xss8m", "-Xmx1g", "-XX:TieredStopAtLevel=1")
    command = [str(find_java()), *jvm, "-cp", os.pathsep.join(compiler), "scala.tools.nsc.Main"]
    command += [*SCALAC_OPTIONS, "-classpath", os.pathsep.join(class_path), "-d", str(classes), *scala_files(module)]
    return subprocess.run(command, check=False).returncode


def write_jar(module: Module, classes: Path, stamp: Stamp) -> None:
    """Packs classes and resources; the same input gives the same bytes."""
    entries = {path.relative_to(classes).as_posix(): path for path in classes.rglob("*.class")}
    entries |= module.files()
    module.jar.parent.mkdir(parents=True, exist_ok=True)
    unfinished = module.jar.with_suffix(".unfinished")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        # The manifest comes first: java.util.jar.JarInputStream finds it only there.
        _add(archive, "META-INF/MANIFEST.MF", stamp.manifest().encode())
        for name, path in sorted(entries.items()):
            _add(archive, name, path.read_bytes())
    unfinished.replace(module.jar)


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    # ZipInfo's default date is fixed (1980), unlike that of ZipFile.write.
    archive.writestr(zipfile.ZipInfo(name), content, compress_type=zipfile.ZIP_DEFLATED)


def _fail(message: str) -> int:
    sys.stderr.write(f"engine: {message}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
