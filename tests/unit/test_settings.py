# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.engine.settings import UserSettings, is_foreign_jar, merge
from headrace.errors import SettingConflictError
from headrace.options import EXTENSION, PLUGIN, SETTINGS, Kind, Setting
from headrace.run import explain

JARS = ("/opt/headrace-engine.jar", "/cache/kafka-clients-4.3.0.jar")
REQUIRED = [setting for setting in SETTINGS if setting.kind is Kind.REQUIRED]
PREFERENCES = [setting for setting in SETTINGS if setting.kind is Kind.PREFERENCE]


def conf_of(**layers: dict[str, str]) -> dict[str, str]:
    return merge(UserSettings(**layers), jars=JARS, slots=16).conf


def notes_of(**layers: dict[str, str]) -> tuple[str, ...]:
    return merge(UserSettings(**layers), jars=JARS, slots=16).notes


def by_key(setting: Setting) -> str:
    return setting.key


def test_no_key_stands_in_the_table_twice() -> None:
    keys = [setting.key for setting in SETTINGS]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("setting", SETTINGS, ids=by_key)
def test_a_reason_reads_well_behind_a_colon(setting: Setting) -> None:
    assert setting.reason
    assert not setting.reason.endswith(".")


def test_without_settings_of_the_user_all_of_ours_hold() -> None:
    conf = conf_of()
    assert conf["spark.master"] == "local[16]"
    assert conf["spark.jars"] == ",".join(JARS)
    assert conf["spark.sql.extensions"] == EXTENSION
    assert conf["spark.plugins"] == PLUGIN
    assert "spark.jars.packages" not in conf
    assert {setting.key: conf[setting.key] for setting in REQUIRED} == {
        setting.key: setting.value for setting in REQUIRED
    }


@pytest.mark.parametrize("layer", ["app", "launch", "defaults"])
@pytest.mark.parametrize("setting", REQUIRED, ids=by_key)
def test_a_contradicting_value_is_an_error_that_names_both(setting: Setting, layer: str) -> None:
    contradicting = {"true": "false", "false": "true"}.get(setting.value, "3")
    with pytest.raises(SettingConflictError) as caught:
        conf_of(**{layer: {setting.key: contradicting}})
    assert caught.value.parameters == {
        "key": setting.key,
        "wanted": setting.value,
        "given": contradicting,
        "reason": setting.reason,
    }


@pytest.mark.parametrize("setting", REQUIRED, ids=by_key)
def test_the_wanted_value_is_accepted_however_it_is_written(setting: Setting) -> None:
    written = setting.value.upper() if setting.value in ("true", "false") else setting.value
    assert conf_of(app={setting.key: f" {written} "})[setting.key] == setting.value


def test_the_class_of_the_state_store_is_not_compared_without_case() -> None:
    key = "spark.sql.streaming.stateStore.providerClass"
    wanted = next(setting.value for setting in SETTINGS if setting.key == key)
    with pytest.raises(SettingConflictError):
        conf_of(app={key: wanted.lower()})


@pytest.mark.parametrize("layer", ["app", "launch"])
@pytest.mark.parametrize("setting", PREFERENCES, ids=by_key)
def test_a_preference_yields_to_the_user(setting: Setting, layer: str) -> None:
    assert conf_of(**{layer: {setting.key: "theirs"}})[setting.key] == "theirs"


@pytest.mark.parametrize("setting", PREFERENCES, ids=by_key)
def test_a_preference_in_the_defaults_file_is_left_for_spark_to_read(setting: Setting) -> None:
    assert setting.key not in conf_of(defaults={setting.key: "theirs"})


@pytest.mark.parametrize("setting", [setting for setting in SETTINGS if setting.kind is Kind.LATE], ids=by_key)
def test_a_late_setting_is_left_to_the_plugin_and_yields_to_the_user(setting: Setting) -> None:
    assert setting.key not in conf_of()
    assert conf_of(app={setting.key: "theirs"})[setting.key] == "theirs"
    assert f"{setting.key} = {setting.value}\n    late, ours:" in explain.as_text({})
    assert f"{setting.key} = theirs\n    late, yours:" in explain.as_text({setting.key: "theirs"})


def test_a_repaired_conflict_is_none() -> None:
    key = "spark.dynamicAllocation.enabled"
    assert conf_of(app={key: "false"}, launch={key: "true"}, defaults={key: "true"})[key] == "false"


@pytest.mark.parametrize(
    ("given_value", "merged"),
    [
        ("com.acme.Theirs", f"com.acme.Theirs,{EXTENSION}"),
        (" com.acme.A ,, com.acme.B,", f"com.acme.A,com.acme.B,{EXTENSION}"),
        (f"{EXTENSION},com.acme.Theirs", f"{EXTENSION},com.acme.Theirs"),
        ("com.acme.A,com.acme.A", f"com.acme.A,{EXTENSION}"),
        ("", EXTENSION),
    ],
)
def test_lists_are_merged_theirs_first_and_none_twice(given_value: str, merged: str) -> None:
    assert conf_of(app={"spark.sql.extensions": given_value})["spark.sql.extensions"] == merged


def test_the_applications_list_replaces_that_of_the_command_line_as_in_spark() -> None:
    conf = conf_of(app={"spark.plugins": "A"}, launch={"spark.plugins": "B"}, defaults={"spark.plugins": "C"})
    assert conf["spark.plugins"] == f"A,{PLUGIN}"


def test_a_list_in_the_defaults_file_is_merged() -> None:
    assert conf_of(defaults={"spark.plugins": "C"})["spark.plugins"] == f"C,{PLUGIN}"


def test_jars_of_the_application_and_of_the_command_line_are_all_loaded() -> None:
    conf = conf_of(app={"spark.jars": "a.jar"}, launch={"spark.jars": "b.jar"}, defaults={"spark.jars": "c.jar"})
    assert conf["spark.jars"] == ",".join(("a.jar", "b.jar", *JARS))


def test_a_jar_that_spark_submit_wrote_as_an_address_is_the_same_jar() -> None:
    conf = conf_of(launch={"spark.jars": ",".join(f"file://{jar}" for jar in JARS)})
    assert conf["spark.jars"] == ",".join(f"file://{jar}" for jar in JARS)


@pytest.mark.parametrize(
    "package",
    [
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0",
        "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.1",
        "org.apache.spark/spark-sql-kafka-0-10_2.13:4.1.0",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.3.0",
        "org.apache.kafka:kafka-clients:3.9.0",
    ],
)
@pytest.mark.parametrize("layer", ["app", "launch", "defaults"])
def test_sparks_own_connector_is_taken_out_of_the_packages_with_a_note(package: str, layer: str) -> None:
    layers = {layer: {"spark.jars.packages": f" {package} , com.acme:other:1.0"}}
    assert conf_of(**layers)["spark.jars.packages"] == "com.acme:other:1.0"
    (note,) = notes_of(**layers)
    assert package in note
    assert "spark.jars.packages" in note


def test_a_list_of_packages_that_becomes_empty_replaces_theirs() -> None:
    conf = conf_of(defaults={"spark.jars.packages": "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"})
    assert conf["spark.jars.packages"] == ""


@pytest.mark.parametrize("package", ["org.apache.spark:spark-streaming-kafka-0-10_2.13:4.3.0", "com.acme:kafka:1.0"])
def test_other_packages_stay(package: str) -> None:
    assert conf_of(app={"spark.jars.packages": package})["spark.jars.packages"] == package
    assert notes_of(app={"spark.jars.packages": package}) == ()


@pytest.mark.parametrize(
    "jar",
    [
        "/x/spark-sql-kafka-0-10_2.13-4.3.0.jar",
        "file:///x/spark-sql-kafka-0-10_2.13-4.1.0-SNAPSHOT.jar",
        "hdfs://nn/libs/spark-token-provider-kafka-0-10_2.13-4.3.0.jar",
        "libs/kafka-clients-3.9.0.jar",
        "libs/org.apache.spark_spark-sql-kafka-0-10_2.13-4.1.0.jar",
    ],
)
def test_sparks_own_connector_is_taken_out_of_the_jars_with_a_note(jar: str) -> None:
    layers = {"launch": {"spark.jars": f"mine.jar,{jar}"}}
    assert conf_of(**layers)["spark.jars"] == ",".join(("mine.jar", *JARS))
    (note,) = notes_of(**layers)
    assert jar in note


@pytest.mark.parametrize("name", ["kafka-clients-metrics-1.0.jar", "my-spark-sql-kafka-0-10_2.13-1.0.jar", "kafka.jar"])
def test_jars_with_similar_names_are_not_ours_to_take(name: str) -> None:
    assert not is_foreign_jar(name)


def test_other_settings_of_the_application_and_the_command_line_pass_through() -> None:
    conf = conf_of(app={"spark.x": "app"}, launch={"spark.x": "launch", "spark.y": "1"}, defaults={"spark.z": "2"})
    assert (conf["spark.x"], conf["spark.y"]) == ("app", "1")
    assert "spark.z" not in conf


@pytest.mark.parametrize(
    ("memory", "heap"), [(None, "1g"), ("512m", "512m"), ("2048", "2048m"), ("3G", "3g")], ids=lambda value: f"{value}"
)
def test_the_heap_begins_at_its_full_size(memory: str | None, heap: str) -> None:
    app = {} if memory is None else {"spark.driver.memory": memory}
    assert f"-Xms{heap}" in conf_of(app=app)["spark.driver.extraJavaOptions"].split()


def test_options_of_the_user_come_last_and_so_win() -> None:
    conf = conf_of(launch={"spark.driver.extraJavaOptions": '-Xms2g -Dname="a b"'})
    ours = "-Xms1g -XX:MetaspaceSize=256m -XX:MaxTenuringThreshold=1"
    assert conf["spark.driver.extraJavaOptions"] == f'{ours} -Xms2g -Dname="a b"'


@given(
    st.dictionaries(
        st.sampled_from([setting.key for setting in SETTINGS if setting.kind is not Kind.REQUIRED]),
        st.lists(st.sampled_from(["a", "b:c:1", "d.jar", EXTENSION, "org.apache.kafka:kafka-clients:1"])).map(",".join),
    )
)
def test_merging_twice_is_merging_once(app: dict[str, str]) -> None:
    """An application under `headrace run` that calls `headrace.session()` is merged twice."""
    once = conf_of(app=app)
    again = merge(UserSettings(app=once), jars=JARS, slots=16)
    assert again.conf == once
    assert again.notes == ()


def test_the_reference_page_is_up_to_date() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"
    assert page.read_text(encoding="utf-8") == explain.as_page(), "run: python -m headrace.run.explain"
