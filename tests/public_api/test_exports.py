# SPDX-License-Identifier: Apache-2.0
"""What a user may import."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import headrace
from headrace import HeadraceError, errors

ROOT = Path(__file__).parents[2]
PACKAGES = ["headrace", "headrace.local", "headrace.testing"]


def test_the_whole_api_is_at_most_fifteen_names() -> None:
    assert len(headrace.__all__) <= 15


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_name_is_there_and_documented(package: str) -> None:
    module = importlib.import_module(package)
    assert sorted(module.__all__) == list(module.__all__)
    for name in module.__all__:
        value = getattr(module, name)
        assert isinstance(value, str) or value.__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        headrace.no_such_name  # noqa: B018 the access is the test


def test_every_error_is_one_of_ours() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    assert classes
    assert all(issubclass(cls, HeadraceError) for cls in classes)


def test_the_import_alone_does_not_load_pyspark() -> None:
    """Every Python worker imports the package; PySpark's session would cost each of them a second."""
    code = "import headrace, sys; print(sorted(name for name in sys.modules if name.startswith(('pyspark', 'py4j'))))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_the_types_are_shipped() -> None:
    assert Path(headrace.__file__).with_name("py.typed").is_file()


def test_a_typed_program_is_accepted_and_its_mistakes_are_found() -> None:
    """The mistakes in it carry an ignore with their code, and mypy complains about every ignore that is not needed."""
    command = [sys.executable, "-m", "mypy", "tests/public_api/typed_program.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
