# SPDX-License-Identifier: Apache-2.0
"""Packs the wheel: with exactly one engine jar, made of the very sources beside it, and with the benchmarks."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

if TYPE_CHECKING:
    from types import ModuleType


class EngineJarHook(BuildHookInterface):  # type: ignore[type-arg]
    """Checks the engine jar and adds the benchmarks before hatchling packs the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Stops the build unless there is one jar and it is fresh."""
        # An editable install only points at the sources; `make setup` compiles the engine right after it.
        if version != "editable":
            trouble = engine_jar_trouble(Path(self.root))
            if trouble:
                sys.exit(f"{trouble}; run `make setup` first")
            build_data["force_include"].update(benchmark_files(Path(self.root)))


def engine_jar_trouble(root: Path) -> str | None:
    """Says what is wrong with the engine jar below a project folder, or nothing."""
    build = _load(root / "engine" / "build.py")
    jars = sorted(path.name for path in build.ENGINE_JAR.parent.glob("*"))
    if jars != [build.ENGINE_JAR.name]:
        return f"a wheel needs exactly one engine jar, found {jars or 'none'} in {build.ENGINE_JAR.parent}"
    stamp = build.read_stamp(build.ENGINE_JAR)
    if stamp is None or stamp != build.fresh_stamp(build.MAIN, stamp.spark_version):
        return f"{build.ENGINE_JAR} was not made of the sources in {build.MAIN.sources}"
    return None


def benchmark_files(root: Path) -> dict[str, str]:
    """Returns what `headrace bench` needs, with its place in the wheel; results stay in the repository."""
    folder = root / "benchmarks"
    files = (path for path in folder.rglob("*") if path.is_file())
    left_out = {"__pycache__", "results"}
    return {
        str(path): f"headrace/benchmarks/{path.relative_to(folder).as_posix()}"
        for path in sorted(files)
        if not left_out & set(path.relative_to(folder).parts)
    }


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("headrace_engine_build", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up there.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
