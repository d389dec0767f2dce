# SPDX-License-Identifier: Apache-2.0
"""What can be said of the documentation without running anything: links, fences, and that nothing is left out."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace import errors
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md") for path in ROOT.glob(pattern))
LANGUAGES = {"bash", "bash elsewhere", "python", "text", "text output"}
REFERENCE = ROOT / "docs" / "reference"


def by_path(page: Path) -> str:
    return str(page.relative_to(ROOT))


def without_code(page: Path) -> str:
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The anchors that a web page makes of the headings."""
    headings = re.findall(r"^#+ (.+)$", without_code(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=by_path)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page)):
        if re.match(r"https?:|mailto:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{target}: no such file"
        assert not anchor or anchor in anchors(linked), f"{target}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=by_path)
def test_every_block_of_code_says_what_it_is(page: Path) -> None:
    """Else nobody would notice that a block is not run by test_docs.py."""
    fences = re.findall(r"^\s*(```|~~~)(.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert all(fence == "```" for fence, _ in fences)
    opening, closing = fences[::2], fences[1::2]
    assert {info.strip() for _, info in opening} <= LANGUAGES
    assert all(not info.strip() for _, info in closing)


@pytest.mark.parametrize("page", PAGES, ids=by_path)
def test_a_page_has_one_title_at_its_top(page: Path) -> None:
    titles = [line for line in without_code(page).splitlines() if line.startswith("# ")]
    assert len(titles) == 1
    assert page.read_text(encoding="utf-8").startswith(titles[0])


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent != ROOT], ids=by_path)
def test_a_page_is_reachable_from_another(page: Path) -> None:
    linked = {
        (other.parent / target.partition("#")[0]).resolve()
        for other in PAGES
        if other != page
        for target in re.findall(r"\]\(([^)\s]+)\)", without_code(other))
    }
    assert page in linked or page.parent in linked


def test_every_condition_of_an_error_is_explained() -> None:
    """And none is that no longer exists. What the rules refuse has its own page, which is generated."""
    raised = {
        condition
        for source in (ROOT / "engine" / "src" / "main" / "scala").rglob("*.scala")
        for condition in re.findall(r'new HeadraceException\(\s*"(\w+)"', source.read_text(encoding="utf-8"))
    }
    classes = [cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, HeadraceError)]
    explained = re.findall(r"^\|.*?`([A-Z0-9_]{3,})`", (REFERENCE / "errors.md").read_text("utf-8"), re.MULTILINE)
    assert len(explained) == len(set(explained))
    assert set(explained) == raised | {cls.condition for cls in classes}


def test_every_option_and_setting_in_the_code_is_explained() -> None:
    """Each name that the connector looks up among its options, and each of Spark's settings for its own connector."""
    page = (REFERENCE / "kafka.md").read_text(encoding="utf-8")
    sources = (ROOT / "engine" / "src" / "main" / "scala" / "headrace" / "kafka").glob("*.scala")
    code = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    options = set(re.findall(r'\boptions\.\w+\(\s*"([^"$]+)"', code))
    settings = set(re.findall(r'"(spark\.(?:kafka|sql\.streaming\.kafka)\.[^"$]+[^".$])"', code))
    assert len(options) > 20
    assert len(settings) > 5
    assert not {name for name in options | settings if f"`{name}`" not in page}


def test_the_page_says_of_every_option_what_the_tests_of_the_connector_show() -> None:
    """Their table has each option with what becomes of it under each trigger; so has the page."""
    tested = options_under_test()
    page = (REFERENCE / "kafka.md").read_text(encoding="utf-8")
    rows = {
        cells[1].strip("` "): [cell.strip() for cell in cells[3:6]]
        for cells in map(cells_of, page.partition("\n## Writing\n")[0].splitlines())
        if cells
    }
    for option in tested.SOURCE:
        verdicts = (option.real_time, option.micro_batch, option.batch)
        said = rows[option.name]
        assert all(cell.startswith(verdict.value) for cell, verdict in zip(said, verdicts, strict=True)), option.name
    others = (*tested.SOURCE_KAFKA, *tested.SINK, *tested.APPLICATION)
    named = {re.sub(r"(spark\.kafka\.clusters)\..*", r"\1.*", option.name) for option in others}
    passed_on = {
        option.name for option in others if option.name.startswith("kafka.") and option.real_time.value == "honoured"
    }
    assert not {name for name in named - passed_on if f"`{name}`" not in page}


def cells_of(line: str) -> list[str]:
    """The cells of a table's row; the first and the last are empty."""
    return line.split("|") if line.startswith("| `") else []


def options_under_test() -> ModuleType:
    path = ROOT / "tests" / "integration" / "kafka" / "options_table.py"
    spec = importlib.util.spec_from_file_location("options_table", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look themselves up there.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
