# SPDX-License-Identifier: Apache-2.0
"""Watches a JVM for a while: the processor time of its threads, or samples of what they execute."""

from __future__ import annotations

import os
import re
import subprocess
import threading
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Self

import psutil

from headrace.engine.java import find_java

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NAME = "where"
LOOK_EVERY_S = 0.5
_TICKS = os.sysconf("SC_CLK_TCK")
_THREAD = re.compile(r'\s+sampledThread = "(.*)" \(javaThreadId')
_FRAME = re.compile(r"\s+([\w$.]+)\.[\w$<>]+\(")


class Threads:
    """The processor time of a JVM during a ``with`` block."""

    def __init__(self, pid: int) -> None:
        """Takes the JVM's process."""
        self._pid = pid
        self._last: dict[int, tuple[str, float]] = {}
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self.by_name: dict[str, float] = {}
        """Seconds by the name of the threads."""
        self.process_s = 0.0
        """Seconds of the JVM, without its children."""
        self.forks_s = 0.0
        """Seconds of children that have come and gone."""

    def __enter__(self) -> Self:
        """Reads the clocks."""
        self._before = _thread_times(self._pid)
        self._process = psutil.Process(self._pid).cpu_times()
        self._watch.start()
        return self

    def _look(self) -> None:
        # An epoch's threads end with it; what they used is told no more.
        while True:
            self._last.update(_thread_times(self._pid))
            if self._ended.wait(LOOK_EVERY_S):
                return

    def __exit__(self, *_: object) -> None:
        """Reads the clocks again."""
        self._ended.set()
        self._watch.join()
        self._last.update(_thread_times(self._pid))
        spent: dict[str, float] = defaultdict(float)
        for thread, (name, seconds) in self._last.items():
            spent[name] += seconds - self._before.get(thread, ("", 0.0))[1]
        self.by_name = dict(spent)
        now, then = psutil.Process(self._pid).cpu_times(), self._process
        self.process_s = now.user + now.system - then.user - then.system
        self.forks_s = now.children_user + now.children_system - then.children_user - then.children_system


class Recording:
    """A flight recording of a JVM during a ``with`` block.

    It is no place to measure times in: when it starts, the JVM discards compiled code of classes that it instruments.
    """

    def __init__(self, pid: int, file: Path) -> None:
        """Takes the JVM's process and the file for the recording."""
        self._pid = pid
        self._file = file

    def __enter__(self) -> Self:
        """Starts the recording."""
        _run("jcmd", str(self._pid), "JFR.start", f"name={NAME}", "settings=profile")
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the recording."""
        _run("jcmd", str(self._pid), "JFR.stop", f"name={NAME}", f"filename={self._file}")

    def samples(self) -> list[tuple[str, list[str]]]:
        """Returns the thread and the classes on the stack, from the top, of each sample."""
        words = ("print", "--events", "jdk.ExecutionSample", "--stack-depth", "64", str(self._file))
        return list(parse(_run("jfr", *words).splitlines()))


def parse(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Yields the samples in what `jfr print` writes."""
    thread, stack = "", list[str]()
    for line in lines:
        if found := _THREAD.match(line):
            thread, stack = found[1], []
        elif found := _FRAME.match(line):
            stack.append(found[1])
        elif line.startswith("}"):
            yield thread, stack


def find_jvm(pid: int) -> int:
    """Returns the JVM among a process and all that came from it."""
    root = psutil.Process(pid)
    return next(process.pid for process in (root, *root.children(recursive=True)) if process.name() == "java")


def _thread_times(pid: int) -> dict[int, tuple[str, float]]:
    times = {}
    for folder in Path(f"/proc/{pid}/task").iterdir():
        try:
            # Behind the name, which may hold anything: user and system time are the fields 14 and 15 of the line.
            fields = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            name = (folder / "comm").read_text(encoding="utf-8").rstrip("\n")
        except (FileNotFoundError, ProcessLookupError):
            continue
        times[int(folder.name)] = (name, (int(fields[11]) + int(fields[12])) / _TICKS)
    return times


def _run(tool: str, *words: str) -> str:
    return subprocess.run([find_java(tool), *words], capture_output=True, text=True, check=True).stdout
