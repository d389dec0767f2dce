# SPDX-License-Identifier: Apache-2.0
"""Starts Spark's own daemon or worker, with ours inside.

Spark starts Python as ``python -m pyspark.daemon pyspark.worker``. For real-time queries the engine puts a launcher in
the place of ``python`` that calls `main` with those very arguments.

Reaches into PySpark: ``pyspark.daemon.worker`` is what the daemon calls in each process that it forks.
"""

from __future__ import annotations

import importlib
import runpy
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from socket import socket


def main() -> None:
    """Runs the module that Spark asked for, as ``python -m`` would."""
    _, dash_m, module, *arguments = sys.argv
    if dash_m != "-m":
        sys.exit(f"headrace: Spark starts its workers in a way that is not known here: {sys.argv[1:]}")
    sys.argv = [module, *arguments]
    if module.endswith("worker"):
        _install()
    else:
        _install_after_the_fork()
    if module == "pyspark.daemon":
        # Run as a module, the daemon would be loaded a second time, without our worker.
        importlib.import_module(module).manager()
    else:
        runpy.run_module(module, run_name="__main__", alter_sys=True)


def _install_after_the_fork() -> None:
    # Before it, nobody may import what starts threads: pandas and pyarrow do.
    daemon = importlib.import_module("pyspark.daemon")
    spark = daemon.worker

    def worker(sock: socket, authenticated: bool) -> int:  # noqa: FBT001 Spark's own signature
        _install()
        return int(spark(sock, authenticated))

    daemon.worker = worker  # type: ignore[attr-defined]


def _install() -> None:
    from .prompt import install  # noqa: PLC0415 see above

    install()
