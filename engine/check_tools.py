# SPDX-License-Identifier: Apache-2.0
"""Names the first tool that `make setup` misses, in one line with how to get it. Runs on any Python 3."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys


def python_trouble():
    """Says what is wrong with this Python, or nothing."""
    version = "%d.%d" % sys.version_info[:2]
    if sys.version_info < (3, 11):
        return (
            "%s is Python %s, but 3.11 or newer is needed; install one and name it: make setup PYTHON=python3.12"
            % (sys.executable, version)
        )
    if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
        return "%s cannot make virtual environments; Debian and Ubuntu: apt install python%s-venv" % (
            sys.executable,
            version,
        )
    return None


def java_trouble():
    """Says what is wrong with Java, or nothing."""
    remedy = "install a JDK 17 (Debian and Ubuntu: apt install openjdk-17-jdk-headless; macOS: brew install openjdk@17)"
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    if java is None:
        place = "in JAVA_HOME=%s" % home if home else "on PATH"
        return "no java %s; %s" % (place, remedy)
    try:
        done = subprocess.run([java, "-version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        said = done.stdout.decode(errors="replace")
    except OSError as error:
        said = str(error)
    found = re.search(r'version "(\d+)', said)
    if found is None:
        # macOS puts a java on every PATH that only tells where to buy one.
        return "%s does not start; %s" % (java, remedy)
    if int(found.group(1)) < 17:
        return "%s is version %s, but Spark 4 needs 17 or newer; %s" % (java, found.group(1), remedy)
    return None


if __name__ == "__main__":
    trouble = python_trouble() or java_trouble()
    if trouble:
        sys.exit("setup: " + trouble)
