# SPDX-License-Identifier: Apache-2.0
"""A broker's data folder: its settings, its logging, its formatted storage.

::

    DATA/server.properties     written anew at every start
    DATA/log4j2.properties     written anew at every start
    DATA/server.log            what the broker logged since its last start, warnings and worse
    DATA/console.log           what its JVM printed since its last start
    DATA/records/              the records; kept from start to start
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.engine.cache import cache_folder, exclusive
from headrace.engine.ivy import LOCKS, resolve
from headrace.engine.java import find_java
from headrace.errors import KafkaStartError
from headrace.local.ports import HOST

if TYPE_CHECKING:
    from collections.abc import Mapping

NODE_ID = "1"

# Paths are relative: the broker's working directory is its data folder, so no character of the folder's name has to
# survive Kafka's comma-separated lists and Java's property files.
_SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": NODE_ID,
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL",
    "log.dirs": "records",
    # One node is all there is.
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # The default of 50 makes the first consumer group and the first transaction wait for 50 partitions each.
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "share.coordinator.state.topic.num.partitions": "4",
    # The default of 3 s waits for more members of a group, to spare a busy cluster a second rebalance.
    "group.initial.rebalance.delay.ms": "0",
    # A misspelt name is an error, not an empty topic.
    "auto.create.topics.enable": "false",
    # Ten times the default, for records of a megabyte and more.
    "message.max.bytes": "10485760",
    # The default of 128 MB is taken from the heap at once, and is more than half of ours.
    "log.cleaner.dedupe.buffer.size": "4194304",
    # The defaults of 3 and 8 are for a server: on a laptop they hand every request to a thread that sleeps. With fewer,
    # it needs a seventh less of a processor (benchmarks/results/broker-threads.json).
    "num.network.threads": "1",
    "num.io.threads": "2",
    # A broker that crashed may come back only after its session has ended; the default lets it wait for 9 s. With 3 s,
    # one that got no processor for so long on a busy laptop was taken for dead.
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "500",
}

_LOGGING = {
    "rootLogger.level": "WARN",
    "rootLogger.appenderRef.file.ref": "file",
    "appender.file.type": "File",
    "appender.file.name": "file",
    "appender.file.fileName": "server.log",
    "appender.file.append": "false",
    "appender.file.layout.type": "PatternLayout",
    "appender.file.layout.pattern": "%d{ISO8601} %p %m (%c)%n",
}


def prepare(data: Path, listeners: Mapping[str, int], settings: Mapping[str, str]) -> None:
    """Makes a data folder ready for a start of the broker; records that it holds stay.

    Args:
        data: The data folder; it must exist.
        listeners: The port of each listener by name; ``CONTROLLER`` and ``PLAINTEXT`` must be among them.
        settings: Further settings of the broker; they win over ours.
    """
    addresses = {name: f"{name}://{HOST}:{port}" for name, port in listeners.items()}
    ours = {
        **_SETTINGS,
        "controller.quorum.voters": f"{NODE_ID}@{HOST}:{listeners['CONTROLLER']}",
        "listeners": ",".join(addresses.values()),
        "advertised.listeners": ",".join(value for name, value in addresses.items() if name != "CONTROLLER"),
    }
    # The settings may hold passwords.
    write_private(data / "server.properties", as_properties({**ours, **settings}))
    write_private(data / "log4j2.properties", as_properties(_LOGGING))
    (data / "server.log").unlink(missing_ok=True)
    _format(data / "records")


def write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner may read, at no moment anyone else."""
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:  # noqa: PTH123
        file.write(text)


def as_properties(settings: Mapping[str, str]) -> str:
    """Writes settings in the form that Java reads, which knows only ASCII."""
    return "".join(f"{name}={''.join(map(_escape, value))}\n" for name, value in settings.items())


def broker_class_path() -> str:
    """Returns the class path of the broker, fetching its jars on first use."""
    return os.pathsep.join(map(str, resolve("kafka-broker")))


def _escape(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if " " <= character <= "~":
        return character
    units = character.encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _format(records: Path) -> None:
    """Does what `kafka-storage format` does, without the second that its JVM takes."""
    if (records / "meta.properties").exists():
        return
    records.mkdir(exist_ok=True)
    shutil.copyfile(_bootstrap_checkpoint(), records / "bootstrap.checkpoint")
    # Last, because it is what tells a formatted folder from one that was interrupted.
    write_private(records / "meta.properties", as_properties(_identity()))


def _identity() -> dict[str, str]:
    return {"version": "1", "node.id": NODE_ID, "cluster.id": _random_id(), "directory.id": _random_id()}


def _random_id() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def _bootstrap_checkpoint() -> Path:
    """Returns the file that switches on the features of this Kafka version in a new cluster.

    Kafka's own tool writes it, once per user and version: it holds no identity, only feature levels. Without it a new
    cluster would run with transactions and groups of the oldest kind.
    """
    version = hashlib.sha256((LOCKS / "kafka-broker.lock").read_bytes()).hexdigest()[:16]
    cache = cache_folder("kafka-broker")
    checkpoint = cache / f"{version}.checkpoint"
    with exclusive(cache / ".lock"):
        if not checkpoint.exists():
            with tempfile.TemporaryDirectory(dir=cache, prefix="format-") as folder:
                _run_storage_tool(Path(folder))
                Path(folder, "records", "bootstrap.checkpoint").replace(checkpoint)
    return checkpoint


def _run_storage_tool(work: Path) -> None:
    # The tool checks the settings it is given; the ports in them are never opened.
    ports = {
        "controller.quorum.voters": f"{NODE_ID}@{HOST}:1",
        "listeners": f"CONTROLLER://{HOST}:1,PLAINTEXT://{HOST}:2",
    }
    write_private(work / "server.properties", as_properties({**_SETTINGS, **ports}))
    command = [str(find_java()), "-XX:TieredStopAtLevel=1", "-cp", broker_class_path(), "kafka.tools.StorageTool"]
    command += ["format", "--cluster-id", _random_id(), "--config", "server.properties"]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise KafkaStartError(
            reason=f"its storage could not be formatted ({said[-1] if said else 'no reason given'})",
            instead="Check that `java -version` says 17 or newer.",
        )
