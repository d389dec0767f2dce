# SPDX-License-Identifier: Apache-2.0
"""Everything Headrace raises, in one tree.

::

    HeadraceError
    ├── EngineError                  the engine cannot be attached to Spark
    │   ├── EngineMissingError       the engine jar is not where it belongs
    │   ├── EngineMismatchError      the engine jar was built for another Spark
    │   ├── JvmAlreadyRunningError   Spark's JVM started without the engine
    │   ├── EngineInactiveError      Spark did not load the engine's extension
    │   ├── ForeignConnectorError    another Kafka connector would win over ours
    │   └── ConnectUnsupportedError  the engine does not work through Spark Connect
    ├── SettingConflictError         a user's setting contradicts what the engine needs
    ├── ApplicationNotFoundError     the application to run is not there
    ├── DrainTimeoutError            a query could not be drained in time
    ├── GaveUpError                  what failed was not started again
    ├── HealthAddressError           nobody can listen where health was to be told
    ├── QueryUnknownError            nothing was measured of a query
    ├── NothingRunsError             no application with a dashboard runs
    ├── NotAnsweringError            an application does not answer
    ├── DashboardAddressError        an address for a dashboard makes no sense
    ├── CheckpointMissingError       a query without a checkpoint cannot catch up
    ├── JavaMissingError             no usable Java
    ├── ExtraMissingError            a command needs packages that are not installed
    ├── BenchmarksMissingError       the programs of `headrace bench` are not there
    ├── DownloadError                jars that Headrace needs at run time
    │   ├── ResolveError             they could not be fetched
    │   └── ChecksumError            a jar is not the one that was pinned
    └── KafkaError                   the local broker and the everyday commands
        ├── KafkaStartError          the local broker did not start
        │   └── PortTakenError       because another process listens on its port
        ├── KafkaDiedError           the local broker ended by itself
        ├── KafkaNotRunningError     no local broker runs
        ├── SeveralBrokersError      more than one runs, and none was named
        └── KafkaRequestError        a broker refused a request or did not answer

Match the class, or the ``condition`` when only text is at hand (a log, a process's output); never the sentence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class HeadraceError(Exception):
    """The root of every error that Headrace raises.

    A subclass states its ``condition`` and a ``template`` of whole sentences: what happened, what became of the data
    (where data is concerned), the next step. The parameters fill the template.

    Attributes:
        condition: A stable name in capitals, for programs that match errors.
        parameters: What fills the template, by name.
    """

    condition: ClassVar[str] = "HEADRACE"
    template: ClassVar[str] = "{message}"

    def __init__(self, **parameters: object) -> None:
        """Fills the template with the parameters, as text."""
        self.parameters = {name: str(value) for name, value in parameters.items()}
        super().__init__(f"[{self.condition}] {self.template.format(**self.parameters)}")

    def __reduce__(self) -> tuple[Callable[..., HeadraceError], tuple[type[HeadraceError], dict[str, str]]]:
        """Pickles as class and parameters: the default would pass the finished message to ``__init__``."""
        return _rebuild, (type(self), self.parameters)


def _rebuild(cls: type[HeadraceError], parameters: dict[str, str]) -> HeadraceError:
    return cls(**parameters)


class EngineError(HeadraceError):
    """The engine cannot be attached to Spark."""

    condition = "ENGINE"


class EngineMissingError(EngineError):
    """The engine jar is not where it belongs."""

    condition = "ENGINE_MISSING"
    template = (
        "The engine jar is not at {path}. Nothing was started. In a clone of the repository, run `make setup`; "
        "otherwise reinstall headrace."
    )

    def __init__(self, path: Path | str) -> None:
        """Names the place where the jar was expected."""
        super().__init__(path=path)


class EngineMismatchError(EngineError):
    """The engine jar was built for another Spark."""

    condition = "ENGINE_MISMATCH"
    template = (
        "The engine jar was built for Spark {built_for}, but Spark {running} is installed. Nothing was started. "
        "In a clone of the repository, run `make setup`; otherwise install pyspark=={built_for} or the headrace "
        "release for Spark {running}."
    )

    def __init__(self, built_for: str, running: str) -> None:
        """Names both Spark versions."""
        super().__init__(built_for=built_for, running=running)


class JvmAlreadyRunningError(EngineError):
    """Spark's JVM started without the engine."""

    condition = "JVM_ALREADY_RUNNING"
    template = (
        "Spark's JVM is already running in this process without the engine, and a class path cannot change once its "
        "JVM runs. Running queries are untouched. Create the first session of the process with headrace.session(), "
        "or start the script with `headrace run`."
    )

    def __init__(self) -> None:
        """Needs no parameters."""
        super().__init__()


class EngineInactiveError(EngineError):
    """Spark did not load the engine's extension."""

    condition = "ENGINE_INACTIVE"
    template = (
        "Spark did not load the extension {extension}; the warning in its log says why. No query was started. "
        "In a clone of the repository, run `make setup`; otherwise reinstall headrace."
    )

    def __init__(self, extension: str) -> None:
        """Names the class of the extension."""
        super().__init__(extension=extension)


class ForeignConnectorError(EngineError):
    """Another Kafka connector would win over ours."""

    condition = "FOREIGN_CONNECTOR"
    template = (
        "Another connector for format 'kafka' stands on Spark's own class path at {path}, and Spark would silently "
        "prefer it. Nothing was started. Remove that jar, or run the script without headrace."
    )

    def __init__(self, path: Path | str) -> None:
        """Names the other connector's jar."""
        super().__init__(path=path)


class ConnectUnsupportedError(EngineError):
    """The engine does not work through Spark Connect."""

    condition = "CONNECT_UNSUPPORTED"
    template = (
        "Spark Connect was asked for ({where}), but the engine has to be in the driver, which a Connect client does "
        "not start. Nothing was started. Name a master instead of a remote, and run where the driver should run."
    )

    def __init__(self, where: str) -> None:
        """Says what asked for it."""
        super().__init__(where=where)


class SettingConflictError(HeadraceError):
    """A user's setting contradicts what the engine needs."""

    condition = "SETTING_CONFLICT"
    template = (
        "{key} is set to '{given}', but the engine needs '{wanted}': {reason}. Nothing was started. "
        "Remove the setting, or set it to '{wanted}'."
    )

    def __init__(self, key: str, wanted: str, given: str, reason: str) -> None:
        """Names the setting with both values; the reason is a clause without a full stop."""
        super().__init__(key=key, wanted=wanted, given=given, reason=reason)


class ApplicationNotFoundError(HeadraceError):
    """The application to run is not there."""

    condition = "APPLICATION_NOT_FOUND"
    template = "There is no application at {path}. Nothing was started. Give the path of a Python script."

    def __init__(self, path: Path | str) -> None:
        """Names the path that was asked for."""
        super().__init__(path=path)


class DrainTimeoutError(HeadraceError):
    """A query could not be drained in time."""

    condition = "DRAIN_TIMEOUT"
    template = (
        "The query {query} did not finish what was on its way within {seconds} seconds. It reads no more, and nothing "
        "is lost; what it has not committed is read again at the next start. Wait longer, or end it with query.stop()."
    )

    def __init__(self, *, query: str, seconds: int) -> None:
        """Names the query, and how long it had."""
        super().__init__(query=query, seconds=seconds)


class GaveUpError(HeadraceError):
    """What failed was not started again."""

    condition = "GAVE_UP"
    template = (
        "{what} failed, and was not started again, because {reason}. It failed with: {cause} Nothing is lost: the next "
        "start goes on at the last commit. Remove the cause, then start it again."
    )

    def __init__(self, *, what: str, cause: str, reason: str) -> None:
        """Names what failed, and why; the reason why no start can help is a clause without a full stop."""
        super().__init__(what=what, cause=cause if cause.endswith(".") else f"{cause}.", reason=reason)


class HealthAddressError(HeadraceError):
    """Nobody can listen where health was to be told."""

    condition = "HEALTH_ADDRESS"
    template = (
        "Nobody can listen at '{address}': {reason}. Nothing was started. Give HOST:PORT with a port that is free; "
        "0.0.0.0 as the host lets other machines ask."
    )

    def __init__(self, *, address: str, reason: object) -> None:
        """Names the address, and what the system says."""
        super().__init__(address=address, reason=reason)


class QueryUnknownError(HeadraceError):
    """Nothing was measured of a query."""

    condition = "QUERY_UNKNOWN"
    template = (
        "The engine has no measurements of the query {query}; the query itself is untouched. Only queries of a session "
        "with the engine are measured, and of those that have ended the last twenty are remembered. Create the session "
        "with headrace.session(), or start the script with `headrace run`."
    )

    def __init__(self, query: str) -> None:
        """Names the query."""
        super().__init__(query=query)


class NothingRunsError(HeadraceError):
    """No application with a dashboard runs."""

    condition = "NOTHING_RUNS"
    template = (
        "No application with a dashboard runs on this machine for this user. Start one with `headrace run APP.py`, or "
        "name the address that one on another machine has printed: `headrace top HOST:PORT`."
    )

    def __init__(self) -> None:
        """Needs no parameters."""
        super().__init__()


class NotAnsweringError(HeadraceError):
    """An application does not answer."""

    condition = "NOT_ANSWERING"
    template = (
        "The application at {address} does not answer: {reason}. Check the address: `headrace run` prints it, with "
        "the token that other machines need."
    )

    def __init__(self, *, address: str, reason: object) -> None:
        """Names the address, and what went wrong."""
        super().__init__(address=address, reason=reason)


class DashboardAddressError(HeadraceError):
    """An address for a dashboard makes no sense."""

    condition = "DASHBOARD_ADDRESS"
    template = (
        "Nobody can listen at '{address}': {reason}. There is no dashboard; what runs is untouched. Give HOST:PORT, or "
        ":PORT for this machine alone; port 0 takes any free one."
    )

    def __init__(self, *, address: str, reason: object) -> None:
        """Names the address, and what is wrong with it."""
        super().__init__(address=address, reason=reason)


class CheckpointMissingError(HeadraceError):
    """A query without a checkpoint cannot catch up."""

    condition = "CHECKPOINT_MISSING"
    template = (
        "The query has no checkpoint, and so the real-time query could not go on where catching up ends. Nothing was "
        "started. Set the option checkpointLocation."
    )

    def __init__(self) -> None:
        """Needs no parameters."""
        super().__init__()


class JavaMissingError(HeadraceError):
    """No usable Java."""

    condition = "JAVA_MISSING"
    template = (
        "No Java was found ({looked}). Nothing was started. Install a JDK 17 (Debian and Ubuntu: "
        "`apt install openjdk-17-jdk-headless`; macOS: `brew install openjdk@17`) and put it on PATH or in JAVA_HOME."
    )

    def __init__(self, looked: str) -> None:
        """Says where Java was looked for."""
        super().__init__(looked=looked)


class ExtraMissingError(HeadraceError):
    """A command needs packages that are not installed."""

    condition = "EXTRA_MISSING"
    template = (
        "`headrace {command}` needs packages that are not installed: {packages}. Nothing was started. "
        "Run `pip install 'headrace[{extra}]'`."
    )

    def __init__(self, command: str, packages: str, extra: str | None = None) -> None:
        """Names the command, the packages, and the extra that has them, which is called as the command if none is."""
        super().__init__(command=command, packages=packages, extra=extra or command)


class BenchmarksMissingError(HeadraceError):
    """The programs of `headrace bench` are not there."""

    condition = "BENCHMARKS_MISSING"
    template = (
        "The programs of `headrace bench` are not in {places}. Nothing was started. Reinstall headrace, or clone its "
        "repository and run `make setup` there."
    )

    def __init__(self, places: str) -> None:
        """Names the folders where they were expected."""
        super().__init__(places=places)


class DownloadError(HeadraceError):
    """Jars that Headrace needs at run time."""

    condition = "DOWNLOAD"


class ResolveError(DownloadError):
    """Jars could not be fetched."""

    condition = "RESOLVE"
    template = (
        "The jars of '{bundle}' could not be fetched into {cache}: {reason}. What was there before is unchanged. "
        "Check the network and try again; HEADRACE_IVY_SETTINGS may name an Ivy settings file with your own mirror."
    )

    def __init__(self, bundle: str, cache: Path | str, reason: str) -> None:
        """Names the bundle, the cache folder and the resolver's own words."""
        super().__init__(bundle=bundle, cache=cache, reason=reason)


class ChecksumError(DownloadError):
    """A jar is not the one that was pinned."""

    condition = "CHECKSUM"
    template = (
        "{path} has SHA-256 {found}, but {wanted} is pinned. The file was not used. If it is a leftover of an "
        "interrupted copy, delete it and try again; if it comes back, do not trust where it comes from."
    )

    def __init__(self, path: Path | str, wanted: str, found: str) -> None:
        """Names the file with both checksums."""
        super().__init__(path=path, wanted=wanted, found=found)


class KafkaError(HeadraceError):
    """The local broker and the everyday commands."""

    condition = "KAFKA"


class KafkaStartError(KafkaError):
    """The local broker did not start."""

    condition = "KAFKA_START"
    template = "The local Kafka broker did not start: {reason}. Records it already held are unchanged. {instead}"

    def __init__(self, reason: str, instead: str) -> None:
        """Says why, as a clause without a full stop, and what to do instead, as a sentence."""
        super().__init__(reason=reason, instead=instead)


class PortTakenError(KafkaStartError):
    """Another process listens on the local broker's port."""

    condition = "PORT_TAKEN"
    template = (
        "The local Kafka broker did not start: port {port} is taken. Nothing was changed. Choose another port; 0 takes "
        "any free one."
    )

    def __init__(self, port: int | str) -> None:
        """Names the port."""
        HeadraceError.__init__(self, port=port)


class KafkaDiedError(KafkaError):
    """The local broker ended by itself."""

    condition = "KAFKA_DIED"
    template = (
        "The local Kafka broker ended by itself: {reason}. Records that it had acknowledged are in {data}, unless that "
        "was a temporary folder. Start it again."
    )

    def __init__(self, reason: str, data: Path | str) -> None:
        """Says why, as a clause without a full stop, and where the records are."""
        super().__init__(reason=reason, data=data)


class KafkaNotRunningError(KafkaError):
    """No local broker runs."""

    condition = "KAFKA_NOT_RUNNING"
    template = (
        "No local Kafka broker runs. Nothing was changed. Start one with `headrace kafka start`, or name another "
        "with --bootstrap HOST:PORT."
    )

    def __init__(self) -> None:
        """Needs no parameters."""
        super().__init__()


class SeveralBrokersError(KafkaError):
    """More than one local broker runs, and none was named."""

    condition = "SEVERAL_BROKERS"
    template = (
        "Several local Kafka brokers run ({bootstraps}). Nothing was changed. Name one: with --bootstrap HOST:PORT, or "
        "with --port PORT to stop it."
    )

    def __init__(self, bootstraps: str) -> None:
        """Names the addresses of all."""
        super().__init__(bootstraps=bootstraps)


class KafkaRequestError(KafkaError):
    """A broker refused a request or did not answer."""

    condition = "KAFKA_REQUEST"
    template = (
        "Kafka at {bootstrap} did not {action}: {reason}. {outcome} Check the address and the name; `headrace kafka "
        "status` and `headrace topics list` show what is there."
    )

    def __init__(self, bootstrap: str, action: str, reason: str, outcome: str) -> None:
        """Names the broker, what it was asked for (a verb phrase), its reason, and what became of the data."""
        super().__init__(bootstrap=bootstrap, action=action, reason=reason, outcome=outcome)
