# SPDX-License-Identifier: Apache-2.0
"""Prints the tables of result files, and makes a web page with plots of them.

    .venv/bin/python benchmarks/report.py benchmarks/results/bench-4.json --out /tmp/report

Where several files measured the same thing, the newest counts.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from harness import findings, report, table

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Reads, prints, writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="*", type=Path, metavar="RESULT.json")
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"write {report.NAME} and the plots as PNG files there")
    parser.add_argument("--docs", type=Path, metavar="PAGE.md", help="renew the tables between the markers of a page")
    arguments = parser.parse_args()
    if not (arguments.results or arguments.docs):
        parser.error("name a result file, or a page with --docs")
    try:
        _report(arguments)
    except findings.UnreadableError as reason:
        parser.exit(1, f"{reason}\n")
    return 0


def _report(arguments: argparse.Namespace) -> None:
    if arguments.results:
        found = findings.read(arguments.results)
        table.show(found)
        if arguments.out:
            print(f"\nwritten to {report.write(found, arguments.out)}")
    if arguments.docs:
        page = arguments.docs.read_text(encoding="utf-8")
        arguments.docs.write_text(table.renewed(page, ROOT), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
