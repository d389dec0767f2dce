# SPDX-License-Identifier: Apache-2.0
"""Measure latency: Headrace beside its rivals, or your own query."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path

import headrace
from headrace.errors import BenchmarksMissingError, ExtraMissingError

NAME = "bench"

# What is imported, and the name under which it is installed.
_PACKAGES = {"hdrh": "hdrhistogram", "matplotlib": "matplotlib", "psutil": "psutil"}
_PACKAGE_FOLDER = Path(headrace.__file__).parent
# As the wheel has it, and as a clone has it.
_PLACES = (_PACKAGE_FOLDER / "benchmarks", _PACKAGE_FOLDER.parents[1] / "benchmarks")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Leaves every word to the program, which explains itself."""
    # Nothing that a word can begin with makes it an option here, not even of --help.
    parser.prefix_chars = ""
    parser.add_argument("words", nargs=argparse.REMAINDER)


def run(args: argparse.Namespace) -> int:
    """Becomes the program, so that its exit code is ours and Ctrl-C reaches it; does not return."""
    missing = [name for module, name in _PACKAGES.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise ExtraMissingError(NAME, ", ".join(missing))
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, str(_program()), *args.words])  # noqa: S606 there is no shell to fear


def _program() -> Path:
    for place in _PLACES:
        program = place / "bench.py"
        if program.is_file():
            return program
    raise BenchmarksMissingError(" or ".join(str(place) for place in _PLACES))
