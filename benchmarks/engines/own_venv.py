# SPDX-License-Identifier: Apache-2.0
"""A virtual environment for each rival, so that no rival's dependencies meet Headrace's or another rival's.

It lies in Headrace's cache folder and is made from a requirements file in which every package is pinned.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from engines.engine import CannotError

from headrace.engine.cache import cache_folder, exclusive

if TYPE_CHECKING:
    from pathlib import Path

_SHOWN = 8
"""How many of pip's last lines are shown when it fails: its own summary fits."""


def own_venv(requirements: Path) -> Path:
    """Returns the interpreter of the environment that a requirements file describes; makes it on first use.

    Safe when several processes do it at once: one makes it, the others wait. A changed file makes it anew.

    Args:
        requirements: Pins of all packages; its name without the ending names the environment.

    Raises:
        CannotError: It could not be made.
    """
    root = cache_folder("rivals")
    folder = root / requirements.stem
    wanted = _fingerprint(requirements)
    if not _is_made(folder, wanted):
        # A virtual environment holds its own path, so it cannot be made elsewhere and moved in whole: it is made in
        # place, and the mark of what it was made from comes last.
        with exclusive(root / f"{requirements.stem}.lock"):
            if not _is_made(folder, wanted):
                _make(folder, requirements)
                _mark(folder).write_text(wanted, encoding="utf-8")
    return folder / "bin" / "python"


def pinned(requirements: Path, package: str) -> str:
    """Returns the version at which a requirements file pins a package."""
    lines = requirements.read_text(encoding="utf-8").splitlines()
    return next(line.partition("==")[2].strip() for line in lines if line.startswith(f"{package}=="))


def _mark(folder: Path) -> Path:
    return folder / "made-from"


def _is_made(folder: Path, wanted: str) -> bool:
    mark = _mark(folder)
    return mark.exists() and mark.read_text(encoding="utf-8") == wanted


def _fingerprint(requirements: Path) -> str:
    # The interpreter counts too: an environment points to the one it was made by.
    made_by = f"{sys.base_prefix} {platform.python_version()}\n"
    return hashlib.sha256(made_by.encode() + requirements.read_bytes()).hexdigest()


def _make(folder: Path, requirements: Path) -> None:
    sys.stderr.write(f"bench: installing {requirements.stem} into {folder} (once per machine, takes minutes)\n")
    # The mark goes first: half an environment must never carry one.
    _mark(folder).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    _run(requirements.stem, [sys.executable, "-m", "venv", str(folder)])
    # The pins are the whole closure, so there is nothing left to resolve.
    install = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-deps", "-r"]
    _run(requirements.stem, [str(folder / "bin" / "python"), *install, str(requirements)])


def _run(name: str, command: list[str]) -> None:
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        said = "\n".join(done.stdout.strip().splitlines()[-_SHOWN:])
        message = f"{name} cannot be installed here: {command[2]} ended with {done.returncode}\n{said}"
        raise CannotError(message)
