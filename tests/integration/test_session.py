# SPDX-License-Identifier: Apache-2.0
"""`headrace.session()` and `headrace.configure()` on a real Spark, each application in a JVM of its own."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyspark
import pytest

from headrace.engine.jars import engine_jar, library_jars
from headrace.engine.java import find_java
from headrace.options import EXTENSION, KAFKA_PROVIDER, PLUGIN, SETTINGS, Kind

SPARK_HOME = Path(pyspark.__file__).parent
PATIENCE = 240
pytestmark = pytest.mark.timeout(300)

THEIRS = {
    "theirs/Extension.java": """
        package theirs;
        public class Extension extends scala.runtime.AbstractFunction1<
                org.apache.spark.sql.SparkSessionExtensions, scala.runtime.BoxedUnit> {
            public scala.runtime.BoxedUnit apply(org.apache.spark.sql.SparkSessionExtensions extensions) {
                System.setProperty("theirs.extension", "active");
                return scala.runtime.BoxedUnit.UNIT;
            }
        }""",
    "theirs/Plugin.java": """
        package theirs;
        import org.apache.spark.api.plugin.*;
        public class Plugin implements SparkPlugin {
            public DriverPlugin driverPlugin() {
                System.setProperty("theirs.plugin", "active");
                return null;
            }
            public ExecutorPlugin executorPlugin() { return null; }
        }""",
}
# Stands for Spark's own: that one wins over ours by its package.
FOREIGN_CONNECTOR = {
    "org/apache/spark/sql/kafka010/KafkaSourceProvider.java": """
        package org.apache.spark.sql.kafka010;
        public class KafkaSourceProvider implements org.apache.spark.sql.sources.DataSourceRegister {
            public String shortName() { return "kafka"; }
        }""",
}
REGISTRATION = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"

BuildJar = Callable[..., Path]
RunScript = Callable[..., Any]


@pytest.fixture(scope="module")
def build_jar(tmp_path_factory: pytest.TempPathFactory) -> BuildJar:
    """Compiles Java sources into a jar."""

    def build(sources: Mapping[str, str], resources: Mapping[str, str] | None = None) -> Path:
        folder = tmp_path_factory.mktemp("jar")
        for name, text in sources.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        javac = [str(find_java("javac")), "-nowarn", "-cp", f"{SPARK_HOME}/jars/*", "-d", str(folder / "classes")]
        subprocess.run([*javac, *(str(folder / name) for name in sources)], check=True, timeout=PATIENCE)
        jar = folder / "built.jar"
        with zipfile.ZipFile(jar, "w") as archive:
            for file in (folder / "classes").rglob("*.class"):
                archive.write(file, file.relative_to(folder / "classes"))
            for name, text in (resources or {}).items():
                archive.writestr(name, text)
        return jar

    return build


@pytest.fixture(scope="module")
def their_jar(build_jar: BuildJar) -> Path:
    return build_jar(THEIRS)


@pytest.fixture(scope="module")
def run_script(tmp_path_factory: pytest.TempPathFactory) -> RunScript:
    """Runs a script that calls `report(value)`, and returns the value."""

    def run(source: str, *command: object, conf: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401 JSON
        folder = tmp_path_factory.mktemp("script")
        script = folder / "app.py"
        prelude = (
            "import headrace, json, pathlib\nfrom pyspark import SparkContext\nfrom pyspark.sql import SparkSession\n"
            f"report = lambda value: pathlib.Path({str(folder / 'report')!r}).write_text(json.dumps(value))\n"
            f"conf = {dict(conf or {})!r}\n"
        )
        script.write_text(prelude + source)
        words = [str(word) for word in (*(command or (sys.executable,)), script)]
        env = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
        if command:
            # spark-submit would take whatever python3 comes first on PATH.
            env["PYSPARK_PYTHON"] = sys.executable
        finished = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE, env=env)
        assert finished.returncode == 0, finished.stderr
        return json.loads((folder / "report").read_text())

    return run


A_WHOLE_LIFE = """
from headrace.engine import gateway
from headrace.errors import EngineInactiveError

spark = headrace.session("orders", master="local[4]", conf=conf)
jvm, state = spark._jvm, spark._jsparkSession.sessionState()
entries = [
    getattr(getattr(jvm, name), "MODULE$")
    for name in ("org.apache.spark.internal.config.package$", "org.apache.spark.sql.internal.SQLConf$",
                 "org.apache.spark.sql.internal.StaticSQLConf$")
]
find = jvm.org.apache.spark.internal.config.ConfigEntry.findEntry
storage = jvm.org.apache.spark.sql.execution.streaming.state
store = getattr(getattr(storage, "StateStoreConf$"), "MODULE$").apply(state.conf())
rocksdb = getattr(getattr(storage, "RocksDBConf$"), "MODULE$").apply(store)
facts = {
    "name": spark.sparkContext.appName,
    "conf": dict(spark.sparkContext.getConf().getAll()),
    "known": [key for key in KEYS if find(key) is not None],
    "changelog": rocksdb.enableChangelogCheckpointing(),
    "provider": jvm.org.apache.spark.sql.execution.datasources.DataSource
        .lookupDataSource("kafka", state.conf()).getName(),
    "rules": state.columnarRules().mkString(","),
    "theirs": {name: jvm.System.getProperty("theirs." + name) for name in ("extension", "plugin")},
    "same": headrace.session() is spark and headrace.configure(SparkSession.builder).getOrCreate() is spark,
    "minimum": spark.conf.get("spark.sql.streaming.realTimeMode.minBatchDuration"),
}
spark.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "2s")
headrace.session()
facts["minimum kept"] = spark.conf.get("spark.sql.streaming.realTimeMode.minBatchDuration")
spark.stop()

gateway.EXTENSION, extension = "missing.Extension", gateway.EXTENSION
try:
    headrace.session()
except EngineInactiveError as error:
    facts["inactive"] = error.parameters
facts["stopped"] = SparkContext._active_spark_context is None
gateway.EXTENSION = extension

again = headrace.session("again")
facts["again"] = dict(again.sparkContext.getConf().getAll())
again.stop()
report(facts)
"""


@pytest.fixture(scope="module")
def facts(run_script: RunScript, their_jar: Path) -> Any:  # noqa: ANN401 JSON
    """What an application found that has jars, extensions and plugins of its own."""
    conf = {"spark.jars": str(their_jar), "spark.sql.extensions": "theirs.Extension", "spark.plugins": "theirs.Plugin"}
    return run_script(f"KEYS = {[setting.key for setting in SETTINGS]}\n{A_WHOLE_LIFE}", conf=conf)


def test_the_session_has_the_engine(facts: Any) -> None:  # noqa: ANN401 JSON
    assert facts["provider"] == KAFKA_PROVIDER
    assert EXTENSION in facts["rules"]
    assert facts["name"] == "orders"


def test_their_extension_and_plugin_work_next_to_ours(facts: Any) -> None:  # noqa: ANN401 JSON
    assert facts["theirs"] == {"extension": "active", "plugin": "active"}
    assert facts["conf"]["spark.sql.extensions"] == f"theirs.Extension,{EXTENSION}"
    assert facts["conf"]["spark.plugins"] == f"theirs.Plugin,{PLUGIN}"


def test_spark_knows_every_setting_in_the_table(facts: Any) -> None:  # noqa: ANN401 JSON
    """A key that Spark renames would be ignored without a word."""
    ours = "spark.headrace."
    not_entries = {
        # Read by the state store itself, which says below what it made of it.
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
        # Read by name, without an entry.
        "spark.master",
        # Spark declares it, but makes no entry of it; tests/integration/checkpoint says what came of it,
        "spark.sql.streaming.checkpointFileManagerClass",
        # and of this one, which Hadoop reads.
        "spark.hadoop.fs.file.impl",
    }
    unknown = {setting.key for setting in SETTINGS} - set(facts["known"])
    assert {key for key in unknown if not key.startswith(ours)} == not_entries
    assert facts["changelog"] is True


def test_every_required_setting_is_in_force(facts: Any) -> None:  # noqa: ANN401 JSON
    required = {setting.key: setting.value for setting in SETTINGS if setting.kind is Kind.REQUIRED}
    assert {key: facts["conf"][key] for key in required} == required


def test_a_second_call_returns_the_running_session_and_changes_nothing(facts: Any) -> None:  # noqa: ANN401 JSON
    assert facts["same"] is True
    assert facts["minimum kept"] == "2s"


def test_a_session_whose_extension_did_not_load_is_refused_and_stopped(facts: Any) -> None:  # noqa: ANN401 JSON
    assert facts["inactive"] == {"extension": "missing.Extension"}
    assert facts["stopped"] is True


def test_a_new_application_in_the_same_jvm_has_the_engine_and_its_jars(facts: Any) -> None:  # noqa: ANN401 JSON
    assert facts["again"]["spark.app.name"] == "again"
    assert facts["again"]["spark.plugins"] == f"theirs.Plugin,{PLUGIN}"
    assert facts["again"]["spark.jars"] == facts["conf"]["spark.jars"]


def test_executors_of_a_cluster_have_the_engine_and_their_jars(run_script: RunScript, their_jar: Path) -> None:
    source = """
from pyspark.sql.functions import expr
spark = headrace.configure(SparkSession.builder.master("local-cluster[2,1,1024]").config(map=conf)).getOrCreate()
names = ["headrace.kafka.KafkaProvider", "headrace.HeadracePlugin", "org.apache.kafka.clients.consumer.KafkaConsumer",
         "theirs.Plugin"]
loadable = "reflect('org.apache.spark.util.Utils', 'classIsLoadable', '{}')"
rows = spark.range(0, 4, 1, 4).select([expr(loadable.format(name)) for name in names]).collect()
spark.stop()
report([list(row) for row in rows])
"""
    rows = run_script(source, conf={"spark.jars": str(their_jar)})
    assert rows == [["true"] * 4] * 4


REFUSED = """
from headrace.errors import HeadraceError
try:
    spark = headrace.session(conf=conf)
except HeadraceError as error:
    report([error.condition, error.parameters])
else:
    report(["STARTED", {"version": spark.version}])
    spark.stop()
"""


def test_a_jvm_that_runs_without_the_engine_is_an_error(run_script: RunScript) -> None:
    plain = "plain = SparkSession.builder.master('local[2]').getOrCreate()\n"
    assert run_script(plain + REFUSED) == ["JVM_ALREADY_RUNNING", {}]


def test_under_spark_submit_without_the_engines_jars_is_an_error(run_script: RunScript) -> None:
    assert run_script(REFUSED, SPARK_HOME / "bin" / "spark-submit") == ["JVM_ALREADY_RUNNING", {}]


def test_under_spark_submit_with_the_engines_jars_works(run_script: RunScript) -> None:
    jars = ",".join(str(jar) for jar in (engine_jar(), *library_jars()))
    assert run_script(REFUSED, SPARK_HOME / "bin" / "spark-submit", "--jars", jars) == [
        "STARTED",
        {"version": pyspark.__version__},
    ]


def test_a_foreign_connector_that_slips_onto_the_class_path_is_an_error(
    run_script: RunScript, build_jar: BuildJar
) -> None:
    jar = build_jar(FOREIGN_CONNECTOR, {REGISTRATION: "org.apache.spark.sql.kafka010.KafkaSourceProvider\n"})
    refused = run_script(REFUSED, conf={"spark.driver.extraClassPath": str(jar)})
    assert refused == ["FOREIGN_CONNECTOR", {"path": str(jar)}]
