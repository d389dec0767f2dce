# SPDX-License-Identifier: Apache-2.0
import dataclasses
import zipfile
from pathlib import Path

import pytest

from headrace.advise import rules as table
from headrace.advise import support
from headrace.advise.rules import RESOURCE, Rule, Verdict, parse_rules

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "engine" / "src" / "main" / "resources" / RESOURCE
RULES = parse_rules(SOURCE.read_text(encoding="utf-8"))


def by_condition(rule: Rule) -> str:
    return rule.condition


def test_no_condition_stands_in_the_table_twice() -> None:
    conditions = [rule.condition for rule in RULES]
    assert len(conditions) == len(set(conditions))


@pytest.mark.parametrize("rule", RULES, ids=by_condition)
def test_whoever_is_refused_learns_why_and_what_to_do_instead(rule: Rule) -> None:
    assert (rule.headrace is Verdict.NO) == (rule.reason is not None) == (rule.instead is not None)
    for text in filter(None, (rule.reason, rule.instead)):
        assert text.endswith(".")
    # Behind "... cannot run in real-time mode (where):".
    assert rule.reason is None or rule.reason[0].islower() or rule.reason.startswith("Spark")


@pytest.mark.parametrize("rule", RULES, ids=by_condition)
def test_what_a_spark_runs_the_next_one_and_headrace_run_too(rule: Rule) -> None:
    order = [verdict is Verdict.YES for verdict in (rule.spark_4_1, rule.spark_4_3, rule.headrace)]
    assert order == sorted(order)


def test_a_rule_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        RULES[0].what = "something else"  # type: ignore[misc]


def test_the_table_is_read_from_the_engine_jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = tmp_path / "engine.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.write(SOURCE, RESOURCE)
    monkeypatch.setattr(table, "engine_jar", lambda: jar)
    assert table.load_rules() == RULES


def test_the_page_of_what_is_supported_is_up_to_date() -> None:
    page = ROOT / "docs" / "reference" / "support.md"
    assert page.read_text(encoding="utf-8") == support.as_page(RULES), (
        "write it anew: .venv/bin/python -m headrace.advise.support > docs/reference/support.md"
    )
