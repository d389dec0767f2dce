# SPDX-License-Identifier: Apache-2.0
"""What is decided before Spark's JVM starts; none of these tests starts one."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import headrace
from headrace.engine import gateway, jars
from headrace.engine.launch import with_engine
from headrace.engine.submission import Submission
from headrace.errors import (
    ConnectUnsupportedError,
    EngineMismatchError,
    EngineMissingError,
    ForeignConnectorError,
    SettingConflictError,
)

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"


@pytest.fixture(autouse=True)
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty Spark, an engine jar that fits it, and a clean environment."""
    for name in ("PYSPARK_SUBMIT_ARGS", "PYSPARK_PYTHON", "SPARK_CONF_DIR", "SPARK_REMOTE", "SPARK_API_MODE", "MASTER"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    (home / "conf").mkdir()
    monkeypatch.setenv("SPARK_HOME", str(home))
    monkeypatch.setattr(jars, "engine_jar", lambda: Path("/engine.jar"))
    monkeypatch.setattr(jars, "library_jars", lambda: [Path("/kafka-clients-4.3.0.jar")])
    # Other tests of the same run may have left their Spark running.
    monkeypatch.setattr(gateway, "is_running", lambda: False)
    monkeypatch.setattr(gateway, "is_application_running", lambda: False)
    return home


def environment_inside(app: Mapping[str, str]) -> tuple[dict[str, str], Submission]:
    with with_engine(app) as conf:
        return conf, Submission.parse(os.environ["PYSPARK_SUBMIT_ARGS"])


def test_the_jars_travel_with_the_command_line_and_not_with_the_applications_settings() -> None:
    """spark-submit adds resolved packages to the jars of its command line; the application's would replace both."""
    conf, submission = environment_inside({"spark.jars": "mine.jar"})
    assert "spark.jars" not in conf
    assert submission.conf == {"spark.jars": "mine.jar,/engine.jar,/kafka-clients-4.3.0.jar"}
    assert submission.resource == ("pyspark-shell",)


def test_arguments_for_spark_submit_are_merged_and_the_rest_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    given = f"--queue q --jars theirs.jar --packages {CONNECTOR},g:a:1 --conf spark.plugins=P pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", given)
    conf, submission = environment_inside({})
    assert conf["spark.jars.packages"] == "g:a:1"
    assert conf["spark.plugins"] == "P,headrace.HeadracePlugin"
    assert submission.conf == {"spark.jars": "theirs.jar,/engine.jar,/kafka-clients-4.3.0.jar"}
    assert submission.options == (("--queue", "q"),)
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == given


def test_the_defaults_file_is_merged(installation: Path) -> None:
    (installation / "conf" / "spark-defaults.conf").write_text("spark.plugins P\nspark.master yarn\n")
    conf, _ = environment_inside({})
    assert conf["spark.plugins"] == "P,headrace.HeadracePlugin"
    assert "spark.master" not in conf


def test_a_conflict_in_the_defaults_file_is_found(installation: Path) -> None:
    (installation / "conf" / "spark-defaults.conf").write_text("spark.speculation true\n")
    with pytest.raises(SettingConflictError, match=r"spark\.speculation"):
        headrace.session()


def test_a_note_goes_to_stderr_once(capsys: pytest.CaptureFixture[str]) -> None:
    environment_inside({"spark.jars.packages": CONNECTOR})
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"headrace: took {CONNECTOR} out of spark.jars.packages")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(("cores", "slots"), [(1, 16), (2, 16), (4, 16), (8, 32), (None, 16)])
def test_a_local_master_has_slots_to_spare(monkeypatch: pytest.MonkeyPatch, cores: int | None, slots: int) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    conf, _ = environment_inside({})
    assert conf["spark.master"] == f"local[{slots}]"


@pytest.mark.parametrize(
    ("app", "python"),
    [
        ({}, sys.executable),
        ({"spark.master": "local-cluster[2,1,1024]"}, sys.executable),
        ({"spark.master": "spark://host:7077"}, None),
        ({"spark.pyspark.python": "theirs"}, None),
    ],
)
def test_python_workers_on_this_machine_run_the_applications_interpreter(
    app: Mapping[str, str], python: str | None
) -> None:
    with with_engine(app):
        assert os.environ.get("PYSPARK_PYTHON") == python
    assert "PYSPARK_PYTHON" not in os.environ


def test_an_interpreter_named_by_the_user_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "theirs")
    with with_engine({}):
        assert os.environ["PYSPARK_PYTHON"] == "theirs"


@pytest.mark.parametrize("jar", ["spark-sql-kafka-0-10_2.13-4.3.0.jar", "kafka-clients-3.9.0.jar"])
def test_a_connector_among_sparks_own_jars_is_an_error(installation: Path, jar: str) -> None:
    (installation / "jars" / jar).touch()
    with pytest.raises(ForeignConnectorError) as caught:
        headrace.session()
    assert caught.value.parameters["path"] == str(installation / "jars" / jar)


def test_another_spark_in_spark_home_is_an_error(installation: Path) -> None:
    (installation / "jars" / "spark-core_2.13-4.2.0.jar").touch()
    with pytest.raises(EngineMismatchError) as caught:
        headrace.session()
    assert caught.value.parameters == {"built_for": pyspark.__version__, "running": "4.2.0"}


@pytest.mark.parametrize("error", [EngineMissingError("x"), EngineMismatchError("4.2.0", "4.3.0")])
def test_an_engine_that_does_not_fit_is_an_error(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def refuse() -> Path:
        raise error

    monkeypatch.setattr(jars, "engine_jar", refuse)
    with pytest.raises(type(error)):
        headrace.session()


def test_a_builder_for_spark_connect_is_refused_when_it_is_used() -> None:
    builder = headrace.configure(SparkSession.Builder().remote("sc://host;token=secret"))
    with pytest.raises(ConnectUnsupportedError, match=r"\(spark\.remote\)") as caught:
        builder.getOrCreate()
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(("name", "value"), [("SPARK_REMOTE", "sc://host"), ("SPARK_API_MODE", "connect")])
def test_spark_connect_in_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConnectUnsupportedError):
        headrace.session(master="local[2]")


@pytest.mark.parametrize(
    "arguments", ["--remote sc://host pyspark-shell", "--conf spark.api.mode=connect pyspark-shell"]
)
def test_spark_connect_on_the_command_line_is_refused(monkeypatch: pytest.MonkeyPatch, arguments: str) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    with pytest.raises(ConnectUnsupportedError):
        headrace.session()


def test_configure_changes_the_builder_it_is_given() -> None:
    """A caller that ignores what is returned must not lose the engine in silence."""
    builder = SparkSession.Builder()
    assert headrace.configure(builder) is builder
    builder.config("spark.speculation", "true")
    with pytest.raises(SettingConflictError):
        builder.getOrCreate()
