# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from headrace.cli import bench, produce, tail
from headrace.cli.main import COMMANDS, Command, main
from headrace.errors import BenchmarksMissingError, ExtraMissingError, KafkaNotRunningError
from headrace.local import Record

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _no_broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))


@pytest.mark.parametrize(
    "words",
    [
        [],
        *([command.NAME] for command in COMMANDS if command is not bench),
        *(["kafka", action] for action in ("start", "stop", "status")),
        *(["topics", action] for action in ("list", "create", "describe", "delete")),
    ],
    ids=" ".join,
)
def test_every_command_explains_itself(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*words, "--help"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith(" ".join(["usage: headrace", *words]))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.NAME)
def test_every_command_has_one_line_of_help(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert (command.__doc__ or "?").partition("\n")[0] in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [["kafka", "status"], ["kafka", "stop"], ["topics"], ["topics", "create", "t"], ["produce", "t"], ["tail", "t"]],
)
def test_without_a_broker_a_command_says_so_in_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith(f"headrace {words[0]}: [{KafkaNotRunningError.condition}] ")


def test_ctrl_c_ends_with_the_shells_code_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(tail, "run", interrupt)
    assert main(["tail", "t"]) == 130
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("line", "record"),
    [
        (b"k:v\n", Record(key=b"k", value=b"v")),
        (b"k:v:w\n", Record(key=b"k", value=b"v:w")),
        (b":v\n", Record(key=b"", value=b"v")),
        (b"no key\n", Record(value=b"no key")),
        (b"last line without an end", Record(value=b"last line without an end")),
    ],
)
def test_a_line_becomes_a_record(line: bytes, record: Record) -> None:
    assert produce.parse_line(line, b":", None) == record


def test_without_a_separator_a_line_is_a_value() -> None:
    assert produce.parse_line(b"a:b\n", None, 3) == Record(value=b"a:b", partition=3)


@pytest.mark.parametrize(
    ("record", "line"),
    [
        (Record(key=b"k", value=b"v"), b"k:v\n"),
        (Record(value=b"v"), b"null:v\n"),
        (Record(key=b"k", value=None), b"k:null\n"),
    ],
)
def test_a_record_becomes_a_line(record: Record, line: bytes) -> None:
    assert tail.format_record(record, b":") == line


def bench_with(program: str, folder: Path, words: list[str]) -> subprocess.Popen[str]:
    """Runs `headrace bench` with a program of the test's own; it takes the place of its process."""
    (folder / "bench.py").write_text(program)
    code = "import sys; from pathlib import Path; from headrace.cli import bench, main; "
    code += "bench._PLACES = (Path(sys.argv[1]),); sys.exit(main.main(['bench', *sys.argv[2:]]))"
    return subprocess.Popen([sys.executable, "-c", code, str(folder), *words], stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    "words", [[], ["--help"], ["--rate", "5", "7", "--list", "-x"], ["a", "--", "b"]], ids=" ".join
)
def test_every_word_behind_bench_is_for_its_program(words: list[str], tmp_path: Path) -> None:
    program = "import sys; print(sys.argv[1:]); sys.exit(7)"
    with bench_with(program, tmp_path, words) as process:
        out, _ = process.communicate(timeout=30)
    assert (out, process.returncode) == (f"{words}\n", 7)


def test_ctrl_c_ends_the_program_of_bench_and_its_code_is_kept(tmp_path: Path) -> None:
    program = """
import signal, sys
try:
    print("waits", flush=True)
    signal.pause()
except KeyboardInterrupt:
    sys.exit(5)
"""
    with bench_with(program, tmp_path, []) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 5


def test_bench_names_the_packages_that_it_misses(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "_PACKAGES", {"sys": "here", "no_such_module": "not-here"})
    assert main(["bench", "--list"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"headrace bench: [{ExtraMissingError.condition}] ")
    assert "not installed: not-here." in line
    assert "`pip install 'headrace[bench]'`" in line


def test_bench_says_where_it_looked_for_its_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "_PLACES", (tmp_path / "a", tmp_path / "b"))
    assert main(["bench"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"headrace bench: [{BenchmarksMissingError.condition}] ")
    assert f"{tmp_path / 'a'} or {tmp_path / 'b'}" in line
