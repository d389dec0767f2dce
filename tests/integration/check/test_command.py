# SPDX-License-Identifier: Apache-2.0
"""`headrace check`: the application runs to its end, none of its queries starts, and the exit code is for pipelines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace.advise.report import Outcome

if TYPE_CHECKING:
    from headrace.testing import Kafka

APPLICATION = Path(__file__).with_name("application.py")
PATIENCE = 240
pytestmark = pytest.mark.timeout(300)


def check(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "headrace.cli.main", "check", *words]
    return subprocess.run(command, capture_output=True, check=False, text=True, timeout=PATIENCE, cwd=folder)


@pytest.fixture(scope="module")
def source(kafka: Kafka) -> tuple[str, str]:
    """A broker, and a topic with eight partitions."""
    return kafka.bootstrap, kafka.topic("in", partitions=8)


@pytest.mark.parametrize(
    ("master", "shape", "outcome"),
    [
        ("local[8]", "plain", Outcome.READY),
        ("local[8]", "sorted", Outcome.NOT_ELIGIBLE),
        ("local[7]", "plain", Outcome.TOO_FEW_SLOTS),
    ],
    ids=["0", "1", "2"],
)
def test_the_exit_code_says_what_a_pipeline_wants_to_know(
    tmp_path: Path, source: tuple[str, str], master: str, shape: str, outcome: Outcome
) -> None:
    """The queries with another trigger are judged as well; the outcome is about the one with that of real-time mode."""
    done = check(tmp_path, "--json", "--master", master, str(APPLICATION), *source, str(tmp_path), shape)
    assert done.returncode == outcome, done.stderr[-3000:]
    report = json.loads(done.stdout)
    assert report["outcome"] == outcome.name.lower()
    copies, files, table = report["queries"]
    assert (copies["name"], copies["real_time_ms"]) == ("copies", 5000)
    assert copies["conditions"] == (["ORDER_BY"] if shape == "sorted" else [])
    assert files["conditions"][0] == "SINK_FILE"
    assert table["conditions"][0] == "SINK_UNKNOWN"
    assert "isActive False name copies progress None" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_application_that_fails_is_not_ready(tmp_path: Path) -> None:
    script = tmp_path / "app.py"
    script.write_text("raise SystemExit(3)\n")
    done = check(tmp_path, str(script))
    assert done.returncode == 1
    assert "exit code 3" in done.stderr
