# SPDX-License-Identifier: Apache-2.0
"""engine/build.py and the check that guards the wheel; the compiler itself runs in `make setup`."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tested_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


build = load(ROOT / "engine" / "build.py")
hatch_build = load(ROOT / "hatch_build.py")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """A small source tree with its jar; the wheel's check looks at it instead of at ours."""
    source = tmp_path / "src" / "main" / "scala" / "Thing.scala"
    source.parent.mkdir(parents=True)
    source.write_text("object Thing")
    classes = tmp_path / "classes"
    classes.mkdir()
    (classes / "Thing.class").write_bytes(b"cafe")
    module = build.Module(sources=tmp_path / "src" / "main", jar=tmp_path / "jars" / "headrace-engine.jar")
    build.write_jar(module, classes, build.fresh_stamp(module, "4.3.0"))
    monkeypatch.setattr(build, "MAIN", module)
    monkeypatch.setattr(build, "ENGINE_JAR", module.jar)
    monkeypatch.setattr(hatch_build, "_load", lambda _: build)
    return module


def test_a_wheel_with_one_fresh_jar_may_be_built(module: object) -> None:
    del module
    assert hatch_build.engine_jar_trouble(ROOT) is None


def test_a_wheel_without_a_jar_is_refused(module: object, tmp_path: Path) -> None:
    del module
    (tmp_path / "jars" / "headrace-engine.jar").unlink()
    assert "found none" in hatch_build.engine_jar_trouble(ROOT)


def test_a_wheel_with_a_second_jar_is_refused(module: object, tmp_path: Path) -> None:
    del module
    (tmp_path / "jars" / "other.jar").touch()
    assert "other.jar" in hatch_build.engine_jar_trouble(ROOT)


@pytest.mark.parametrize("name", ["scala/Thing.scala", "scala/New.scala", "resources/META-INF/services/a.B"])
def test_a_wheel_with_a_jar_of_other_sources_is_refused(module: object, tmp_path: Path, name: str) -> None:
    del module
    path = tmp_path / "src" / "main" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("changed")
    assert "was not made of the sources" in hatch_build.engine_jar_trouble(ROOT)


def test_a_renamed_source_makes_the_jar_stale(module: object, tmp_path: Path) -> None:
    before = build.fresh_stamp(module, "4.3.0")
    scala = tmp_path / "src" / "main" / "scala"
    (scala / "Thing.scala").rename(scala / "Other.scala")
    assert build.fresh_stamp(module, "4.3.0") != before


def test_another_spark_makes_the_jar_stale(module: object) -> None:
    one, other = (build.fresh_stamp(module, version) for version in ("4.3.0", "4.3.1"))
    assert dataclasses.replace(one, spark_version="4.3.1") != other


def test_the_same_input_gives_the_same_bytes(module: object, tmp_path: Path) -> None:
    jar = tmp_path / "jars" / "headrace-engine.jar"
    before = jar.read_bytes()
    build.write_jar(module, tmp_path / "classes", build.read_stamp(jar))
    assert jar.read_bytes() == before


def test_the_manifest_is_the_first_entry(module: object, tmp_path: Path) -> None:
    del module
    with zipfile.ZipFile(tmp_path / "jars" / "headrace-engine.jar") as archive:
        assert archive.namelist() == ["META-INF/MANIFEST.MF", "Thing.class"]


def test_the_wheel_holds_the_benchmarks_but_not_their_results(tmp_path: Path) -> None:
    for name in ("bench.py", "harness/page.html", "results/base.json", "harness/__pycache__/page.pyc"):
        path = tmp_path / "benchmarks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    placed = {Path(path).name: place for path, place in hatch_build.benchmark_files(tmp_path).items()}
    assert placed == {"bench.py": "headrace/benchmarks/bench.py", "page.html": "headrace/benchmarks/harness/page.html"}
