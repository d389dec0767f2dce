# SPDX-License-Identifier: Apache-2.0
"""One Apache Kafka node as a child process."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import subprocess
import tempfile
import time
import weakref
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self, TypeVar

from headrace.engine.java import find_java, let_compiler_yield
from headrace.errors import KafkaDiedError, KafkaRequestError, KafkaStartError, PortTakenError
from headrace.local.failure import FOLDER_IN_USE, PORT_TAKEN, find_cause
from headrace.local.keeper import release, start_kept
from headrace.local.ports import HOST, answers, free_ports, is_free
from headrace.local.sasl_ssl import SaslSsl
from headrace.local.storage import broker_class_path, prepare
from headrace.local.topics import Topics

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import timedelta
    from types import TracebackType

# Every request leaves garbage, and every collection stops the broker: with 128 MB at the start once in 0.7 s at 2,000
# records a second, and p99 of a plain hop was 4.5 ms; now it is once in 6 s, and p99 1.9
# (benchmarks/results/broker-heap.json). What survives two of them is left alone and not copied fifteen times: they take
# 6 ms instead of 13 (benchmarks/results/collections.json). Which collector that is, Java may choose.
_JVM_OPTIONS = ("-Xms512m", "-Xmx512m", "-XX:MaxTenuringThreshold=1", "-Dlog4j2.configurationFile=log4j2.properties")

_START_SECONDS = 60
_STOP_SECONDS = 15
_POLL_SECONDS = 0.02
_PORT_ATTEMPTS = 3

_T = TypeVar("_T")


class Broker:
    """A real Kafka broker on the loopback interface, for development and tests.

    It ends with this process, even if that is killed. ``stop`` and ``kill`` keep address and records, so that ``start``
    can continue; ``close``, or the end of the ``with`` block, also removes the records unless a data folder was given.

    Example:
        >>> with Broker() as broker:  # doctest: +SKIP
        ...     spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap)

    Args:
        port: The port to listen on; 0 takes any free one.
        data: A folder for the records, kept when the broker is closed; a temporary one if none is given.
        sasl_ssl: Whether to open a second listener, with TLS and a password.
        settings: Further settings of the broker (``server.properties``); they win over ours.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        data: Path | str | None = None,
        sasl_ssl: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._wanted_port = port
        self._given_data = Path(data).absolute() if data is not None else None
        self._wants_sasl_ssl = sasl_ssl
        self._settings = dict(settings or {})
        self._data: Path | None = None
        self._listeners: dict[str, int] = {}
        self._sasl_ssl: SaslSsl | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._folder_lock: IO[str] | None = None
        self._remove_data: weakref.finalize[..., Broker] | None = None

    @property
    def bootstrap(self) -> str:
        """The broker's address, for ``kafka.bootstrap.servers``; known once it was started."""
        return self._address("PLAINTEXT")

    @property
    def sasl_ssl_bootstrap(self) -> str:
        """The address of the listener with TLS and a password; only with ``sasl_ssl=True``."""
        return self._address("SASL_SSL")

    @property
    def data(self) -> Path:
        """The folder of the broker's records and logs; known once it was started."""
        return _known(self._data)

    @property
    def pid(self) -> int | None:
        """The broker's process, or ``None`` when none runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def sasl_ssl_options(self) -> dict[str, str]:
        """Returns the options that a Spark reader or writer needs for the listener with TLS and a password."""
        return {"kafka.bootstrap.servers": self.sasl_ssl_bootstrap, **_known(self._sasl_ssl).spark_options()}

    def sasl_ssl_client(self) -> dict[str, str]:
        """Returns the settings that a confluent-kafka client needs for the same listener."""
        return {"bootstrap.servers": self.sasl_ssl_bootstrap, **_known(self._sasl_ssl).client_settings()}

    def start(self) -> Self:
        """Starts the broker and returns once it serves requests; nothing happens when it runs already.

        Raises:
            KafkaStartError: It did not start; the message says why.
            JavaMissingError: There is no Java.
            DownloadError: Its jars could not be fetched.
        """
        if self.pid is not None:
            return self
        # Clears away what is left of a broker that ended by itself.
        self.kill()
        if self._listeners:
            self._launch()
        else:
            self._launch_on_chosen_ports()
        return self

    def stop(self) -> None:
        """Ends the broker in good order; ``start`` can continue with the same address and records."""
        if self._process is None:
            return
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_SECONDS)
        self.kill()

    def kill(self) -> None:
        """Ends the broker at once, as a crash would; ``start`` can continue with the same address and records."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            release(process)
        if self._folder_lock is not None:
            self._folder_lock.close()
            self._folder_lock = None

    def close(self) -> None:
        """Stops the broker and removes its records, unless a data folder was given."""
        self.stop()
        if self._remove_data is not None:
            self._remove_data()
            self._data = self._remove_data = self._sasl_ssl = None

    def wait(self, timeout: timedelta | None = None) -> None:
        """Returns when the time is over; without a timeout, never.

        Raises:
            KafkaDiedError: The broker ended by itself.
        """
        process = _known(self._process)
        try:
            process.wait(timeout.total_seconds() if timeout is not None else None)
        except subprocess.TimeoutExpired:
            return
        raise KafkaDiedError(reason=find_cause(self.data).reason, data=self.data)

    def __enter__(self) -> Self:
        """Starts the broker."""
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the broker."""
        self.close()

    def _address(self, listener: str) -> str:
        return f"{HOST}:{_known(self._listeners.get(listener))}"

    def _launch_on_chosen_ports(self) -> None:
        """Starts the broker on ports that it keeps from then on.

        Between our choice of a free port and the broker's use of it, another process may take the port; then we choose
        again.
        """
        for attempts_left in reversed(range(_PORT_ATTEMPTS)):
            self._listeners = self._choose_ports()
            try:
                self._launch()
            except PortTakenError as error:
                if attempts_left == 0 or error.parameters["port"] == str(self._wanted_port):
                    raise
            else:
                break
            finally:
                if self._process is None:
                    self._listeners = {}

    def _choose_ports(self) -> dict[str, int]:
        names = ["CONTROLLER"]
        if self._wants_sasl_ssl:
            names.append("SASL_SSL")
        if self._wanted_port == 0:
            names.append("PLAINTEXT")
        chosen = dict(zip(names, free_ports(len(names)), strict=True))
        return {"PLAINTEXT": self._wanted_port, **chosen}

    def _launch(self) -> None:
        for port in self._listeners.values():
            if not is_free(port):
                raise PortTakenError(port)
        try:
            data = self._prepare_data()
            java = [str(find_java()), *_JVM_OPTIONS, "-cp", broker_class_path(), "kafka.Kafka", "server.properties"]
            remove = data if self._given_data is None else None
            self._process = start_kept(java, cwd=data, output=data / "console.log", remove=remove)
            self._await_service(self._process)
            let_compiler_yield(self._process.pid)
        except OSError as error:
            self.kill()
            raise KafkaStartError(
                reason=f"a file cannot be written ({error})", instead="Free some space, or give another data folder."
            ) from error
        except BaseException:
            self.kill()
            raise

    def _prepare_data(self) -> Path:
        data = self._data or self._given_data
        if data is None:
            data = Path(tempfile.mkdtemp(prefix="headrace-kafka-"))
            self._remove_data = weakref.finalize(self, shutil.rmtree, data, ignore_errors=True)
        self._data = data
        data.mkdir(parents=True, exist_ok=True)
        self._folder_lock = _lock_folder(data)
        settings = self._settings
        if self._wants_sasl_ssl:
            self._sasl_ssl = self._sasl_ssl or SaslSsl.create(data / "tls")
            settings = self._sasl_ssl.broker_settings() | settings
        prepare(data, self._listeners, settings)
        return data

    def _await_service(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _START_SECONDS
        topics: Topics | None = None
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise self._explain()
            if topics is None and answers(self._listeners["PLAINTEXT"]):
                topics = Topics(self.bootstrap)
            # The port answers before the broker has joined its cluster and may lead partitions.
            with contextlib.suppress(KafkaRequestError):
                if topics is not None and topics.brokers():
                    return
            time.sleep(_POLL_SECONDS)
        raise KafkaStartError(
            reason=f"it did not answer within {_START_SECONDS} s", instead="Try again when the machine is less busy."
        )

    def _explain(self) -> KafkaStartError:
        cause = find_cause(self.data)
        if cause is PORT_TAKEN:
            taken = [port for port in self._listeners.values() if not is_free(port)]
            return PortTakenError(taken[0] if taken else self._listeners["PLAINTEXT"])
        return KafkaStartError(reason=cause.reason, instead=cause.instead)


def _lock_folder(data: Path) -> IO[str]:
    """Takes a data folder for this process, before anything in it is changed.

    Kafka locks its records too, but only after we have replaced settings and logs that the other broker may need.
    """
    file = (data / ".lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise KafkaStartError(reason=FOLDER_IN_USE.reason, instead=FOLDER_IN_USE.instead) from None
    return file


def _known(value: _T | None) -> _T:
    if value is None:
        message = "start the broker first"
        raise RuntimeError(message)
    return value
