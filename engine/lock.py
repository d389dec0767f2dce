# SPDX-License-Identifier: Apache-2.0
"""Writes the lock files of the jars that Headrace fetches at run time: run it after a change of version below."""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path

from headrace.engine.ivy import LOCKS, PinnedJar, run_ivy

KAFKA = "4.3.0"

# What each bundle is made of, and whether the dependencies come too. Kafka's client needs slf4j and three compression
# libraries, all of which Spark carries already.
BUNDLES = {
    "kafka-clients": ([("org.apache.kafka", "kafka-clients", KAFKA)], False),
    "hdr-histogram": ([("org.hdrhistogram", "HdrHistogram", "2.2.2")], False),
    "kafka-broker": (
        [
            ("org.apache.kafka", "kafka_2.13", KAFKA),
            # The broker logs through slf4j and brings log4j, but not what joins the two.
            ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.25.4"),
        ],
        True,
    ),
}


def pin(roots: list[tuple[str, str, str]], *, transitive: bool) -> list[PinnedJar]:
    """Resolves the roots with Ivy's default settings and hashes what comes."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for root in roots:
            code = run_ivy(
                [
                    *("-cache", str(work / "cache")),
                    *("-dependency", *root),
                    *("-confs", "default"),
                    *("-types", "jar", "bundle"),
                    *(() if transitive else ("-notransitive",)),
                    *("-retrieve", str(work / "out" / "[organisation]+[artifact]+[revision].[ext]")),
                ],
                print,
            )
            if code != 0:
                sys.exit(f"Ivy ended with {code} on {root}")
        jars = []
        for path in sorted((work / "out").glob("*.jar")):
            organisation, name, version = path.name.removesuffix(".jar").split("+")
            jars.append(PinnedJar(organisation, name, version, hashlib.sha256(path.read_bytes()).hexdigest()))
    if len({jar.name for jar in jars}) != len(jars):
        sys.exit("two versions of one module: the roots disagree, choose versions that agree")
    return jars


def main() -> None:
    """Writes every lock file."""
    for bundle, (roots, transitive) in BUNDLES.items():
        jars = pin(roots, transitive=transitive)
        header = "# Written by engine/lock.py from " + ", ".join(":".join(root) for root in roots)
        text = "\n".join([header, *map(str, jars)]) + "\n"
        (LOCKS / f"{bundle}.lock").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
