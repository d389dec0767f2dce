# SPDX-License-Identifier: Apache-2.0
"""Writes dev.txt: the newest versions that pyproject.toml allows, as pip resolves them in an empty environment."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Installs what pyproject.toml names into a temporary environment and writes down what came."""
    settings = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    extras = [name for names in project["optional-dependencies"].values() for name in names]
    wanted = project["dependencies"] + extras + settings["dependency-groups"]["dev"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder, "bin", "python"))
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted], check=True)
        frozen = subprocess.run([python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True).stdout
    (HERE / "dev.txt").write_text(f"# Written by `make lock`.\n{frozen}", encoding="utf-8")


if __name__ == "__main__":
    main()
