# SPDX-License-Identifier: Apache-2.0
"""Runs a workload as a Flink job in a cluster of one process; runs in the virtual environment of PyFlink.

The queries in SQL are in flink_sql.py, those that call Python in flink_python.py.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import sysconfig
import threading
from pathlib import Path

from engines import flink_python, flink_sql
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.java_gateway import get_gateway
from pyflink.table import StreamTableEnvironment, TableResult

QUERIES = flink_sql.QUERIES | flink_python.QUERIES


def main() -> None:
    """Runs a workload until standard input ends, SIGTERM comes or the job fails."""
    arguments = _arguments()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    tables = _environment(arguments)
    flink_sql.create_source(tables, arguments)
    job = QUERIES[arguments.workload](tables, arguments)
    threading.Thread(target=_wait_for_end_of_input, args=(stop,), daemon=True).start()
    failures: list[Exception] = []
    threading.Thread(target=_wait_for_job, args=(job, failures, stop), daemon=True).start()
    stop.wait()
    if failures:
        sys.stderr.write(f"flink: the job failed: {_reason(failures[0])}\n")
        sys.exit(1)
    client = job.get_job_client()
    if client is not None:
        client.cancel().result()
    _end_jvm()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("workload", "bootstrap", "source", "sink", "folder"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--jar", action="append", required=True)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    return parser.parse_args()


def _environment(arguments: argparse.Namespace) -> StreamTableEnvironment:
    folder = Path(arguments.folder).absolute()
    (folder / "tmp").mkdir(parents=True, exist_ok=True)
    (folder / "log").mkdir(exist_ok=True)
    settings = {
        "pipeline.jars": ";".join(Path(jar).as_uri() for jar in arguments.jar),
        "execution.checkpointing.dir": (folder / "checkpoints").as_uri(),
        "io.tmp.dirs": str(folder / "tmp"),
        "python.executable": sys.executable,
        "python.client.executable": sys.executable,
        # Python inside the JVM is the interpreter behind the virtual environment and does not know of the latter.
        "python.pythonpath": sysconfig.get_paths()["purelib"],
    }
    last = _last_checkpoint(folder / "checkpoints")
    if last is not None:
        settings["execution.state-recovery.path"] = last.as_uri()
    own = dict(pair.split("=", 1) for pair in arguments.set)
    configuration = Configuration()
    for key, value in (settings | own).items():
        if not key.startswith(flink_sql.TABLE_PROPERTY):
            configuration.set_string(key, value)
    return StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment(configuration))


def _last_checkpoint(folder: Path) -> Path | None:
    """Returns the newest complete checkpoint of any earlier run: what a restart after a kill goes on from."""
    complete = sorted(folder.glob("*/chk-*/_metadata"), key=lambda metadata: metadata.stat().st_mtime)
    return complete[-1].parent if complete else None


def _wait_for_end_of_input(stop: threading.Event) -> None:
    # Not sys.stdin: its lock, held here while the interpreter ends, would end it with a fatal error.
    while os.read(0, 1024):
        pass
    stop.set()


def _wait_for_job(job: TableResult, failures: list[Exception], stop: threading.Event) -> None:
    try:
        job.wait()
        failures.append(RuntimeError("it ended by itself"))
    except Exception as failure:  # noqa: BLE001  # The thread ends here; the main thread reports it.
        failures.append(failure)
    stop.set()


def _end_jvm() -> None:
    """Ends the JVM and waits for it: left alone, it goes on for a second beside whatever is measured next."""
    with contextlib.suppress(Py4JError):
        get_gateway().jvm.System.exit(0)
    with contextlib.suppress(ChildProcessError):
        os.wait()


def _reason(failure: Exception) -> str:
    """Picks the innermost causes of a Java stack trace: the outer ones only say that a job failed."""
    causes = [line.strip() for line in str(failure).splitlines() if line.startswith("Caused by:")]
    return "\n".join(causes[-2:]) or str(failure)


if __name__ == "__main__":
    main()
