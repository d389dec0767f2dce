# SPDX-License-Identifier: Apache-2.0
import shlex
from pathlib import Path

import pytest

from headrace.engine.submission import Submission


@pytest.mark.parametrize(
    ("arguments", "conf"),
    [
        (None, {}),
        ("pyspark-shell", {}),
        ("--conf spark.a=1 -c spark.b=x=y pyspark-shell", {"spark.a": "1", "spark.b": "x=y"}),
        ("--conf=spark.a=1 pyspark-shell", {"spark.a": "1"}),
        ("--conf 'spark.a=one two' pyspark-shell", {"spark.a": "one two"}),
        (
            "--jars a.jar,b.jar --packages g:a:1 pyspark-shell",
            {"spark.jars": "a.jar,b.jar", "spark.jars.packages": "g:a:1"},
        ),
        ("--master yarn --exclude-packages g:a pyspark-shell", {"spark.master": "yarn", "spark.jars.excludes": "g:a"}),
        ("--conf spark.a=1 --conf spark.a=2 pyspark-shell", {"spark.a": "2"}),
        ("--jars flag.jar --conf spark.jars=conf.jar pyspark-shell", {"spark.jars": "flag.jar"}),
        ("--verbose --conf spark.a=1 pyspark-shell", {"spark.a": "1"}),
        ("--driver-memory 2g pyspark-shell", {"spark.driver.memory": "2g"}),
        ("pyspark-shell --conf spark.a=1", {}),
    ],
)
def test_settings_are_found_among_the_arguments(arguments: str | None, conf: dict[str, str]) -> None:
    assert Submission.parse(arguments).conf == conf


def test_other_arguments_are_kept_as_they_are() -> None:
    submission = Submission.parse("--queue q --jars a.jar --verbose --py-files 'x y.zip' pyspark-shell rest")
    assert shlex.split(submission.arguments()) == [
        *("--conf", "spark.jars=a.jar"),
        *("--queue", "q", "--verbose", "--py-files", "x y.zip"),
        *("pyspark-shell", "rest"),
    ]


def test_further_settings_win_over_those_that_are_there() -> None:
    submission = Submission.parse("--master yarn pyspark-shell").with_conf({"spark.master": "local[2]"})
    assert Submission.parse(submission.arguments()).conf == {"spark.master": "local[2]"}


@pytest.fixture
def spark_home(tmp_path: Path) -> Path:
    (tmp_path / "conf").mkdir()
    return tmp_path


def write(file: Path, text: str) -> Path:
    file.write_text(text, encoding="utf-8")
    return file


def test_without_a_defaults_file_there_are_no_defaults(spark_home: Path) -> None:
    assert Submission.parse(None).defaults({}, spark_home) == {}


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("spark.a 1", "spark.a", "1"),
        ("spark.a=1", "spark.a", "1"),
        ("spark.a : 1", "spark.a", "1"),
        ("  spark.a\t =  one two  ", "spark.a", "one two"),
        ("spark.a -Dx=y -Dz=w", "spark.a", "-Dx=y -Dz=w"),
        ("spark.a", "spark.a", ""),
        ("spark.a one,\\\n    two", "spark.a", "one,two"),
        ("spark.a C:\\\\x", "spark.a", "C:\\x"),
        ("# spark.a 0\n! spark.a 0\n\nspark.a 1", "spark.a", "1"),
    ],
)
def test_the_defaults_file_is_read_as_spark_reads_it(spark_home: Path, line: str, key: str, value: str) -> None:
    write(spark_home / "conf" / "spark-defaults.conf", line)
    assert Submission.parse(None).defaults({}, spark_home) == {key: value}


def test_the_conf_folder_of_the_environment_comes_before_that_of_spark(spark_home: Path, tmp_path: Path) -> None:
    write(spark_home / "conf" / "spark-defaults.conf", "spark.a home")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write(elsewhere / "spark-defaults.conf", "spark.a elsewhere")
    assert Submission.parse(None).defaults({"SPARK_CONF_DIR": str(elsewhere)}, spark_home) == {"spark.a": "elsewhere"}


def test_a_properties_file_takes_the_place_of_the_defaults_file(spark_home: Path, tmp_path: Path) -> None:
    write(spark_home / "conf" / "spark-defaults.conf", "spark.a defaults\nspark.b defaults")
    mine = write(tmp_path / "mine.conf", "spark.a mine")
    replaced = Submission.parse(f"--properties-file {mine} pyspark-shell").defaults({}, spark_home)
    assert replaced == {"spark.a": "mine"}
    added = Submission.parse(f"--properties-file {mine} --load-spark-defaults pyspark-shell").defaults({}, spark_home)
    assert added == {"spark.a": "mine", "spark.b": "defaults"}


def test_an_extra_properties_file_wins_over_the_others(spark_home: Path, tmp_path: Path) -> None:
    write(spark_home / "conf" / "spark-defaults.conf", "spark.a defaults\nspark.b defaults")
    first, last = write(tmp_path / "1.conf", "spark.a first"), write(tmp_path / "2.conf", "spark.a last")
    arguments = f"--extra-properties-file {first} --extra-properties-file {last} pyspark-shell"
    assert Submission.parse(arguments).defaults({}, spark_home) == {"spark.a": "last", "spark.b": "defaults"}


def test_the_variable_master_names_a_master_where_nothing_else_does(spark_home: Path) -> None:
    assert Submission.parse(None).defaults({"MASTER": "local[3]"}, spark_home) == {"spark.master": "local[3]"}
    write(spark_home / "conf" / "spark-defaults.conf", "spark.master yarn")
    assert Submission.parse(None).defaults({"MASTER": "local[3]"}, spark_home) == {"spark.master": "yarn"}
