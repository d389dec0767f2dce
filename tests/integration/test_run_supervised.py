# SPDX-License-Identifier: Apache-2.0
"""`headrace run --supervise`: the script behaves as without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# The command itself: the folder that it is called in is not among those that it imports from.
HEADRACE = str(Path(sys.executable).with_name("headrace"))


@pytest.mark.parametrize("options", [[], ["--supervise", "--restarts", "0"]], ids=["alone", "supervised"])
def test_files_in_the_working_folder_are_not_taken_for_pythons_own(options: list[str], tmp_path: Path) -> None:
    application = tmp_path / "application"
    application.mkdir()
    (application / "neighbour.py").write_text("word = 'neighbour'\n")
    (application / "app.py").write_text("import sys, neighbour\nprint(neighbour.word, sys.path[0], sys.argv[1:])\n")
    (tmp_path / "argparse.py").write_text("raise SystemExit('not the one of Python')\n")
    command = [HEADRACE, "run", *options, "application/app.py", "--c", "1"]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert (finished.stdout, finished.stderr) == (f"neighbour {application} ['--c', '1']\n", "")
    assert finished.returncode == 0
