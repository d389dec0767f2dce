# SPDX-License-Identifier: Apache-2.0
"""Writes the report of result files: a web page, and its plots as PNG files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.page import as_page

if TYPE_CHECKING:
    from pathlib import Path

    from harness.findings import Findings

NAME = "report.html"


def write(findings: Findings, folder: Path) -> Path:
    """Writes report.html and a PNG for each plot into a folder and returns the path of the page."""
    # Loaded here: matplotlib takes longer to load than a table takes to print.
    from harness.plots import plots  # noqa: PLC0415

    folder.mkdir(parents=True, exist_ok=True)
    pictures = list(plots(findings))
    for picture in pictures:
        (folder / f"{picture.name}.png").write_bytes(picture.png())
    path = folder / NAME
    path.write_text(as_page(findings, pictures), encoding="utf-8")
    return path
