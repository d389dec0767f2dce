# SPDX-License-Identifier: Apache-2.0
"""Names the first tool that `make setup` misses, in one line with how to get it. Runs on any Python from 3.6 on."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys

PYTHON_NEEDED = (3, 11)
JAVA_NEEDED = 17
GET_JAVA = "install a JDK 17 (Debian and Ubuntu: apt install openjdk-17-jdk-headless; macOS: brew install openjdk@17)"


def python_trouble() -> str:
    """Says what is wrong with this Python, or nothing."""
    version = "{}.{}".format(*sys.version_info)
    if sys.version_info < PYTHON_NEEDED:
        return (
            f"{sys.executable} is Python {version}, but 3.11 or newer is needed; "
            "install one and name it: make setup PYTHON=python3.12"
        )
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        return f"{sys.executable} cannot make virtual environments; Debian and Ubuntu: apt install python{version}-venv"
    return ""


def java_trouble() -> str:
    """Says what is wrong with Java, or nothing."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if java is None:
        return f"no java {f'in JAVA_HOME={home}' if home else 'on PATH'}; {GET_JAVA}"
    try:
        done = subprocess.run([java, "-version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        said = done.stdout.decode(errors="replace")
    except OSError as error:
        said = str(error)
    found = re.search(r'version "(\d+)', said)
    if found is None:
        # macOS puts a java on every PATH that only tells where to get one.
        return f"{java} does not start; {GET_JAVA}"
    if int(found.group(1)) < JAVA_NEEDED:
        return f"{java} is version {found.group(1)}, but {JAVA_NEEDED} or newer is needed; {GET_JAVA}"
    return ""


if __name__ == "__main__":
    trouble = python_trouble() or java_trouble()
    if trouble:
        sys.exit(f"setup: {trouble}")
