# SPDX-License-Identifier: Apache-2.0
"""What `headrace.engine.java` does to a real JVM."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.engine.java import find_java, let_compiler_yield

WAITS = """
public class Waits {
    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        System.in.read();
    }
}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives threads priorities of their own")
def test_the_optimising_compiler_alone_gives_way(tmp_path: Path) -> None:
    program = tmp_path / "Waits.java"
    program.write_text(WAITS)
    # The tests' own JVMs have no such compiler.
    surroundings = {name: value for name, value in os.environ.items() if name != "JAVA_TOOL_OPTIONS"}
    command = [str(find_java()), str(program)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=surroundings) as jvm:
        assert jvm.stdout is not None
        assert jvm.stdout.readline() == b"ready\n"
        let_compiler_yield(jvm.pid)
        yielding = {name for name, niceness in niceness_of_threads(jvm.pid) if niceness > os.nice(0)}
        jvm.kill()
    assert yielding == {"C2 CompilerThre"}


def test_a_process_that_is_gone_is_no_error() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    let_compiler_yield(child.pid)


def niceness_of_threads(pid: int) -> list[tuple[str, int]]:
    """Returns the name and the niceness of each thread of a process."""
    threads = list(Path(f"/proc/{pid}/task").iterdir())
    return [((one / "comm").read_text().strip(), os.getpriority(os.PRIO_PROCESS, int(one.name))) for one in threads]
