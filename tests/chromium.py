# SPDX-License-Identifier: Apache-2.0
"""The browser that the tests of the dashboard drive: finds it, and as a program installs it where it can."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
VARIABLE = "HEADRACE_CHROMIUM"
"""In the environment: another browser of the family."""


def chromium() -> str | None:
    """Returns the path of a Chromium, or nothing."""
    given = os.environ.get(VARIABLE)
    return given or next((path for path in map(shutil.which, NAMES) if path), None)


def main() -> int:
    """Installs one with Debian's tools if there is none, and says so if that cannot be done."""
    if chromium() is not None:
        return 0
    apt_get = shutil.which("apt-get")
    if apt_get is None or os.geteuid() != 0:
        print(
            "test: the tests of the dashboard need Chromium; install it (Debian: apt install chromium; macOS: "
            f"brew install --cask chromium), or name another browser of its family in {VARIABLE}",
            file=sys.stderr,
        )
        return 1
    install = ["install", "-y", "-qq", "--no-install-recommends", "chromium"]
    for words in (["update", "-qq"], install):
        subprocess.run(
            [apt_get, *words], check=True, stdout=sys.stderr, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
