# SPDX-License-Identifier: Apache-2.0
"""Every command and every program in the documentation, run in the order of its page.

- ``bash``: each line is run, except what `PREPARED` lists; ``make`` targets only have to exist.
- ``bash elsewhere``: meant for another machine, or for an hour; the command line only has to accept it.
- ``python``: run here, in one namespace a page, without the wait at its end; a program that a command of the page runs
  (its first line is ``# name.py``) is saved under its name instead.
- ``text``: shown only. ``text output``: the page's commands must have printed these lines.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import shlex
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import bench
import pytest
from pyspark.sql.streaming.readwriter import DataStreamWriter

import headrace
from headrace.cli.main import build_parser
from headrace.engine.cache import cache_folder
from headrace.local.registry import announce
from headrace.testing import Kafka, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.local import Broker

ROOT = Path(__file__).parents[2]
ADDRESS = "localhost:9092"
CHECKPOINTS = '"checkpoints/'
PREPARED = ("headrace kafka start", "source .venv/bin/activate", "git clone ", "cd ")
"""What a test finds done already: its broker, its environment, its folder."""

_PATIENCE = timedelta(seconds=90)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """A block of code on a page.

    Attributes:
        info: What stands behind the fence.
        text: The code.
        line: Where it begins.
    """

    info: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```([^\n`]+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [Block(info=m[1].strip(), text=m[2], line=text.count("\n", 0, m.start()) + 2) for m in found]


def pages_with_code() -> list[Path]:
    paths = [path for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md") for path in sorted(ROOT.glob(pattern))]
    return [path for path in paths if any(block.info != "text" for block in blocks(path))]


def by_path(page: Path) -> str:
    return str(page.relative_to(ROOT))


def saved_as(block: Block, page: Path) -> str | None:
    """The name under which a command of the page expects this program, if one does."""
    name = re.match(r"# (\w+\.py)\n", block.text)
    commands = [other.text for other in blocks(page) if other.info == "bash"]
    return name[1] if name and any(name[1] in text for text in commands) else None


class Walk:
    """One reader's way through a page.

    Args:
        page: The page.
        folder: Where the reader works.
        kafka: The reader's broker.
        environment: The variables of the reader's shell.
    """

    def __init__(self, page: Path, folder: Path, kafka: Kafka, environment: dict[str, str]) -> None:
        self._page = page
        self._folder = folder
        self._kafka = kafka
        self._environment = environment
        self._running: list[subprocess.Popen[bytes]] = []
        self._namespace: dict[str, object] = {}

    def do(self, block: Block) -> None:
        text = block.text.replace(ADDRESS, self._kafka.bootstrap)
        match block.info:
            case "bash":
                for command in text.replace("\\\n", " ").splitlines():
                    self._run(command)
            case "bash elsewhere":
                for command in text.replace("\\\n", " ").splitlines():
                    parses(command)
            case "python" if name := saved_as(block, self._page):
                (self._folder / name).write_text(text, encoding="utf-8")
            case "python":
                self._execute(block, text.replace(CHECKPOINTS, f'"{self._folder}/'))
            case "text output":
                eventually(lambda: all(line in self._output() for line in text.splitlines()), _PATIENCE)
            case "text":
                pass
            case unknown:
                pytest.fail(f"line {block.line}: nobody knows what to do with {unknown!r}")

    def _run(self, command: str) -> None:
        if command.startswith("make "):
            assert re.search(rf"^{shlex.split(command)[1]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
        elif not command.startswith(PREPARED):
            with (self._folder / "output").open("ab") as output:
                process = subprocess.Popen(
                    ["bash", "-o", "pipefail", "-c", command],  # noqa: S607 any bash will do
                    cwd=self._folder,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            self._running.append(process)
            if not goes_on(command):
                assert process.wait(_PATIENCE.total_seconds()) == 0, self._output()

    def _execute(self, block: Block, text: str) -> None:
        """Runs a block as lines of its page, so that a failure names them."""
        for topic in re.findall(r'(?:"subscribe", |subscribe=)"([\w-]+)"', text):
            if topic not in self._kafka.topics.names():
                self._kafka.topics.create(topic)
        code = "\n" * (block.line - 1) + text.replace(".start().awaitTermination()", ".start()")
        exec(compile(code, str(self._page), "exec"), self._namespace)  # noqa: S102

    def give(self, **names: object) -> None:
        """Puts into the namespace what every page takes for granted."""
        self._namespace.update(names)

    def _output(self) -> str:
        return (self._folder / "output").read_text(encoding="utf-8")

    def leave(self) -> None:
        """Ends what goes on, as Ctrl-C would."""
        for process in self._running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
        for process in self._running:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def parses(command: str) -> None:
    words = shlex.split(command)
    assert words[0] == "headrace"
    build_parser().parse_args(words[1:])
    if words[1] == "bench":
        # The command leaves every word to a program with a parser of its own.
        bench.parser().parse_args(words[2:])


def goes_on(command: str) -> bool:
    """Whether a command runs until Ctrl-C."""
    is_query = command.startswith("headrace run ") and "--explain" not in command
    return is_query or (command.startswith("headrace tail ") and not re.search(r"--(max|to-end)\b", command))


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    """The session of this process, which tests of other folders may have made; it ends with the process."""
    return headrace.session("docs", master="local[16]", conf={"spark.ui.enabled": "false"})


@pytest.fixture
def environment(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The variables of a shell in which the commands find this test's broker and no other.

    Brokers and applications are found through the cache folder; this one has the jars of the user's and nothing else.
    """
    cache = tmp_path / "cache"
    cache.mkdir()
    for entry in cache_folder("brokers").parent.iterdir():
        if entry.name not in ("brokers", "applications"):
            (cache / entry.name).symlink_to(entry)
    with contextlib.ExitStack() as stack:
        with monkeypatch.context() as patch:
            patch.setenv("HEADRACE_CACHE", str(cache))
            stack.enter_context(announce(broker.bootstrap, broker.data))
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        yield {**os.environ, "HEADRACE_CACHE": str(cache), "PATH": path}


@pytest.fixture
def own_topics(kafka: Kafka) -> Iterator[None]:
    """Removes the topics of a page, so that the next one can make its own of the same names."""
    before = set(kafka.topics.names())
    yield
    for topic in set(kafka.topics.names()) - before:
        kafka.topics.delete(topic)


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("own_topics")
@pytest.mark.parametrize("page", pages_with_code(), ids=by_path)
def test_a_page_does_what_it_says(
    page: Path, tmp_path: Path, kafka: Kafka, environment: dict[str, str], request: pytest.FixtureRequest
) -> None:
    folder = tmp_path / "reader"
    folder.mkdir()
    walk = Walk(page, folder, kafka, environment)
    code = blocks(page)
    here = [block for block in code if block.info == "python" and not saved_as(block, page)]
    assert not any("spark.stop()" in block.text for block in here), "the session belongs to all tests"
    queries: list[StreamingQuery] = []
    with contextlib.ExitStack() as stack:
        stack.callback(walk.leave)
        if here:
            spark: SparkSession = request.getfixturevalue("spark")
            queries = stack.enter_context(started_queries())
            walk.give(spark=spark)
        for block in code:
            walk.do(block)
        for query in queries:
            eventually(lambda query=query: query.status["isTriggerActive"] or not query.isActive)  # type: ignore[misc]
            assert query.exception() is None


@contextlib.contextmanager
def started_queries() -> Iterator[list[StreamingQuery]]:
    """Gathers the queries started inside the block, also those that fail at once, and stops them at its end."""
    started: list[StreamingQuery] = []
    start = DataStreamWriter.start

    def remember(*args: object, **kwargs: object) -> StreamingQuery:
        started.append(start(*args, **kwargs))  # type: ignore[arg-type]
        return started[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DataStreamWriter, "start", remember)
        try:
            yield started
        finally:
            for query in started:
                query.stop()
