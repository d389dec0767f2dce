# SPDX-License-Identifier: Apache-2.0
"""The command line of `headrace run`, and the one by which it starts each run that it supervises."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from headrace.cli.main import build_parser, main
from headrace.cli.run import _address
from headrace.errors import ExtraMissingError
from headrace.run import processes

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What would be kept running."""
    kept: list[list[str]] = []

    def keep(command: Sequence[str], **_: object) -> int:
        kept.append(list(command))
        return 0

    monkeypatch.setattr(processes, "keep_running", keep)
    return kept


def words_of_a_run(commands: list[list[str]], *options: str) -> list[str]:
    """What stands behind the name of our own command."""
    assert main(["run", "--supervise", *options, "app.py", "--c", "1"]) == 0
    (command,) = commands
    return command[command.index("run") :]


@pytest.mark.parametrize("word", ["--c", "--co=1", "--da", "--supervise", "--conf", "-h", "--help", "--version"])
@pytest.mark.parametrize("command", ["run", "check"])
def test_what_stands_behind_the_script_is_for_the_script(command: str, word: str) -> None:
    args = build_parser().parse_args([command, "--conf", "a=b", "app.py", word, "1"])
    assert args.script == ["app.py", word, "1"]
    assert args.conf == [("a", "b")]


def test_an_option_is_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--catch", "app.py"])
    assert "unrecognized arguments: --catch" in capsys.readouterr().err


@pytest.mark.parametrize("options", [[], ["--dashboard", "127.0.0.1:0"]], ids=["none named", "any"])
def test_every_run_tries_the_same_port_first_and_then_others(commands: list[list[str]], options: list[str]) -> None:
    args = build_parser().parse_args(words_of_a_run(commands, *options))
    assert args.dashboard_first_port in range(1024, 65536)
    assert _address(args).port in (None, 0)
    assert args.script == ["app.py", "--c", "1"]


def test_a_port_that_is_named_is_the_only_one(commands: list[list[str]]) -> None:
    args = build_parser().parse_args(words_of_a_run(commands, "--dashboard", "localhost:80"))
    assert args.dashboard_first_port is None
    assert (_address(args).host, _address(args).ports) == ("localhost", [80])


def test_what_the_collector_needs_is_missed_before_the_first_run(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "headrace.observe.otel", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.metric_exporter", None)
    assert main(["run", "--supervise", "--otel", "http://localhost:4318/v1/metrics", "app.py"]) == 1
    assert f"headrace run: [{ExtraMissingError.condition}] " in capsys.readouterr().err
    assert commands == []
