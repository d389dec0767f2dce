# SPDX-License-Identifier: Apache-2.0
"""`headrace run`: a script cannot tell the difference to Python, apart from the engine."""

import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from headrace.engine.jars import Stamp
from headrace.options import EXTENSION, KAFKA_PROVIDER, PLUGIN, SETTINGS
from headrace.testing import eventually

HEADRACE_RUN = (sys.executable, "-m", "headrace.cli.main", "run")
PATIENCE = 240
pytestmark = pytest.mark.timeout(300)

WriteScript = Callable[[str], Path]


@pytest.fixture
def write_script(tmp_path: Path) -> WriteScript:
    """Writes a script into a folder of its own, next to a module that it may import."""
    folder = tmp_path / "application"
    folder.mkdir()
    (folder / "neighbour.py").write_text("word = 'neighbour'\n")

    def write(source: str) -> Path:
        script = folder / "app.py"
        script.write_text(source, encoding="utf-8")
        return script

    return write


def run(*command: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        check=False,
        text=True,
        timeout=PATIENCE,
        input="typed\n",
        env={**os.environ, **(env or {})},
    )


def values(finished: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Reads what a script printed as lines of NAME VALUE."""
    assert finished.returncode == 0, finished.stderr
    return dict(line.split(" ", 1) for line in finished.stdout.splitlines())


WITHOUT_SPARK = {
    "normal end": "print('done')",
    "what a script knows of itself": (
        "import sys, neighbour\n"
        "print(__name__, __file__, __package__, __spec__, __doc__, type(__loader__).__name__, neighbour.word)\n"
        "print(sys.argv, sys.path[0], sys.modules['__main__'].__file__)"
    ),
    "exit code": "import sys\nsys.exit(7)",
    "exit with a word": "import sys\nsys.exit('no good')",
    "exit without a code": "raise SystemExit",
    "uncaught error": "def f():\n    raise ValueError('no good')\n\nf()",
    "error with a cause": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('no good') from e",
    "syntax error": "print('a')\nx = = 1",
    "own hook for errors": (
        "import sys, traceback\n"
        "sys.excepthook = lambda kind, error, tb: print('hook', kind.__name__, len(traceback.extract_tb(tb)))\n"
        "raise ValueError"
    ),
    "interrupted": "raise KeyboardInterrupt",
    "interrupted, with words still to say": (
        "import atexit, sys\natexit.register(print, 'bye')\nsys.stdout.write('unfinished')\nraise KeyboardInterrupt"
    ),
    "killed by itself": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "thread that outlives the script": (
        "import threading\n"
        "gate = threading.Event()\n"
        "threading.Thread(target=lambda: (gate.wait(), print('thread'))).start()\n"
        "import atexit\natexit.register(print, 'exit handler')\n"
        "gate.set()"
    ),
    "own annotations": "def f(x: 1 + 1) -> None: ...\nprint(f.__annotations__)",
    "pickled function": "import pickle\ndef f(): return 5\nprint(pickle.loads(pickle.dumps(f))())",
    "standard input": "import sys\nprint(len(sys.stdin.read()))",
}


@pytest.mark.parametrize("source", WITHOUT_SPARK.values(), ids=WITHOUT_SPARK.keys())
def test_a_script_behaves_as_under_python(write_script: WriteScript, source: str) -> None:
    script = write_script(source)
    under_python = run(sys.executable, script, "a", "--conf", "--", "-x")
    under_headrace = run(*HEADRACE_RUN, script, "a", "--conf", "--", "-x")
    assert under_headrace.stdout == under_python.stdout
    assert under_headrace.stderr == under_python.stderr
    assert under_headrace.returncode == under_python.returncode


REPORT = """
data_source = spark._jvm.org.apache.spark.sql.execution.datasources.DataSource
print("provider", data_source.lookupDataSource("kafka", spark._jsparkSession.sessionState().conf()).getName())
print("rules", spark._jsparkSession.sessionState().columnarRules().mkString(","))
for key in ("spark.plugins", "spark.sql.extensions", "spark.master", "spark.app.name", "spark.sql.shuffle.partitions"):
    print(key, spark.sparkContext.getConf().get(key))
print("jvm", spark.sparkContext._gateway.proc.pid)
"""
BUILDER = "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n"
OTHER_STARTS = {
    "a context": (
        "from pyspark import SparkConf, SparkContext\nfrom pyspark.sql import SparkSession\n"
        "spark = SparkSession(SparkContext('local[5]', conf=SparkConf().setAppName('own').set('spark.plugins', '')))\n"
    ),
    "the JVM before either": (
        "from pyspark import SparkContext\nSparkContext.setSystemProperty('theirs', '1')\n"
        "from pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.appName('own').master('local[5]').getOrCreate()\n"
    ),
}
CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"
CLIENT = "org.apache.kafka:kafka-clients:3.9.0"


def assert_has_engine(reported: Mapping[str, str]) -> None:
    assert reported["provider"] == KAFKA_PROVIDER
    assert EXTENSION in reported["rules"]
    assert reported["spark.sql.extensions"] == EXTENSION
    assert reported["spark.plugins"] == PLUGIN


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """A script as articles show it, with the packages that they name."""
    script = tmp_path_factory.mktemp("article") / "app.py"
    settings = f".appName('script').config('spark.jars.packages', '{CONNECTOR}')"
    script.write_text(BUILDER.replace(".getOrCreate", f"{settings}.getOrCreate") + REPORT)
    options = (
        "--no-dashboard",
        "--master",
        "local[3]",
        "--conf",
        "spark.sql.shuffle.partitions=5",
        "--conf",
        "spark.app.name=line",
    )
    return run(*HEADRACE_RUN, *options, script, env={"PYSPARK_SUBMIT_ARGS": f"--packages {CLIENT} pyspark-shell"})


def test_an_unchanged_script_gets_the_engine(finished: subprocess.CompletedProcess[str]) -> None:
    assert_has_engine(values(finished))


def test_nothing_is_left_running(finished: subprocess.CompletedProcess[str]) -> None:
    jvm = int(values(finished)["jvm"])
    eventually(lambda: not is_alive(jvm))


def test_the_command_line_sets_what_the_script_does_not(finished: subprocess.CompletedProcess[str]) -> None:
    reported = values(finished)
    assert reported["spark.master"] == "local[3]"
    assert reported["spark.sql.shuffle.partitions"] == "5"
    assert reported["spark.app.name"] == "script"


def test_sparks_own_connector_is_taken_out_and_a_note_says_so(finished: subprocess.CompletedProcess[str]) -> None:
    notes = [line for line in finished.stderr.splitlines() if line.startswith("headrace: ")]
    assert [note.split()[2] for note in notes] == [CLIENT, CONNECTOR]


@pytest.mark.parametrize("start", OTHER_STARTS.values(), ids=OTHER_STARTS.keys())
def test_other_ways_to_start_spark_get_the_engine_too(write_script: WriteScript, start: str) -> None:
    reported = values(run(*HEADRACE_RUN, write_script(start + REPORT)))
    assert_has_engine(reported)
    assert (reported["spark.master"], reported["spark.app.name"]) == ("local[5]", "own")


WAITING = (
    BUILDER
    + """
query = spark.readStream.format("rate").load().writeStream.format("noop").start()
print(spark.sparkContext._gateway.proc.pid, flush=True)
query.awaitTermination()
"""
)


@pytest.fixture
def waiting(write_script: WriteScript) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*HEADRACE_RUN, write_script(WAITING)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield process


def test_ctrl_c_ends_the_script_as_it_ends_any_script(waiting: subprocess.Popen[str]) -> None:
    """A terminal sends the signal to the whole group of processes."""
    jvm = jvm_of(waiting)
    os.killpg(waiting.pid, signal.SIGINT)
    _, errors = waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == -signal.SIGINT
    eventually(lambda: not is_alive(jvm))
    assert "KeyboardInterrupt" in errors.splitlines()
    assert "headrace/run" not in errors


def test_a_supervisor_can_end_the_script(waiting: subprocess.Popen[str]) -> None:
    """It sends the signal to the process that it knows."""
    jvm = jvm_of(waiting)
    waiting.terminate()
    waiting.communicate(timeout=PATIENCE)
    assert waiting.returncode == -signal.SIGTERM
    # It has let go of the script's output by now, and ends in a moment.
    eventually(lambda: not is_alive(jvm))


def jvm_of(waiting: subprocess.Popen[str]) -> int:
    assert waiting.stdout is not None
    return int(waiting.stdout.readline())


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    finished = run(*HEADRACE_RUN, tmp_path / "none.py")
    assert finished.returncode == 1
    assert "[APPLICATION_NOT_FOUND]" in finished.stderr


def test_an_engine_for_another_spark_is_refused_before_the_script_starts(
    write_script: WriteScript, tmp_path: Path
) -> None:
    jar = tmp_path / "headrace-engine.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        stamp = Stamp(version="0.1.0", spark_version="4.2.0", source_hash="0")
        archive.writestr("META-INF/MANIFEST.MF", stamp.manifest())
    starter = write_script(
        "import sys\nfrom pathlib import Path\nfrom headrace.cli.main import main\nfrom headrace.engine import jars\n"
        "jars.ENGINE_JAR = Path(sys.argv[1])\nsys.exit(main(['run', *sys.argv[2:]]))"
    )
    script = tmp_path / "application.py"
    script.write_text("print('started')")
    finished = run(sys.executable, starter, jar, script)
    assert finished.returncode == 1
    assert finished.stdout == ""
    assert "[ENGINE_MISMATCH]" in finished.stderr
    assert "4.2.0" in finished.stderr


def test_a_contradicting_setting_ends_the_script_with_an_error_that_names_both(write_script: WriteScript) -> None:
    finished = run(*HEADRACE_RUN, "--conf", "spark.speculation=true", write_script(BUILDER))
    assert finished.returncode == 1
    assert "[SETTING_CONFLICT] spark.speculation is set to 'true', but the engine needs 'false'" in finished.stderr


def test_spark_connect_is_refused(write_script: WriteScript) -> None:
    finished = run(*HEADRACE_RUN, write_script(BUILDER), env={"SPARK_REMOTE": "sc://nowhere"})
    assert finished.returncode == 1
    assert "[CONNECT_UNSUPPORTED]" in finished.stderr


def test_explain_prints_each_setting_with_the_value_in_force_and_the_reason() -> None:
    finished = run(*HEADRACE_RUN, "--explain", "--conf", "spark.locality.wait=1s", "--conf", "spark.plugins=P")
    assert finished.returncode == 0
    for setting in SETTINGS:
        assert f"{setting.key} =" in finished.stdout
    assert " ".join(SETTINGS[-1].reason.split()) in " ".join(finished.stdout.split())
    assert "spark.locality.wait = 1s\n    preference, yours:" in finished.stdout
    assert f"spark.plugins = P,{PLUGIN}\n    list, yours and ours:" in finished.stdout


@pytest.mark.parametrize(("arguments", "word"), [((), "script"), (("--conf", "novalue", "app.py"), "K=V")])
def test_a_wrong_command_line_is_named(arguments: tuple[str, ...], word: str) -> None:
    finished = run(*HEADRACE_RUN, *arguments)
    assert finished.returncode == 2
    assert word in finished.stderr
