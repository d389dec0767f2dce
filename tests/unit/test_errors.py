# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import inspect
import pickle
import re
import string

import pytest

from headrace import errors
from headrace.errors import HeadraceError

CLASSES = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, HeadraceError)]
# A class that only groups others is never raised.
RAISED = [cls for cls in CLASSES if "template" in vars(cls) and cls is not HeadraceError]


def make(cls: type[HeadraceError]) -> HeadraceError:
    return cls(**{name: f"<{name}>" for name in inspect.signature(cls).parameters})


@pytest.mark.parametrize("cls", RAISED)
def test_an_error_says_its_condition_and_every_parameter(cls: type[HeadraceError]) -> None:
    error = make(cls)
    assert str(error).startswith(f"[{cls.condition}] ")
    assert all(value in str(error) for value in error.parameters.values())


@pytest.mark.parametrize("cls", RAISED)
def test_an_error_survives_pickling(cls: type[HeadraceError]) -> None:
    error = make(cls)
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 (made one line above)
    assert (type(copy), str(copy), copy.parameters) == (cls, str(error), error.parameters)


@pytest.mark.parametrize("cls", RAISED)
def test_a_constructor_takes_what_its_template_needs(cls: type[HeadraceError]) -> None:
    needed = {name for _, name, _, _ in string.Formatter().parse(cls.template) if name}
    assert needed == set(inspect.signature(cls).parameters)


def test_conditions_are_unique() -> None:
    conditions = [cls.condition for cls in CLASSES]
    assert len(set(conditions)) == len(conditions)


def test_the_tree_in_the_docstring_is_the_real_one() -> None:
    """Each line's depth and name, in order, against the classes in order of definition."""
    drawn = re.findall(r"^    ((?:[│ ]   )*(?:[├└]── )?)(\w+Error)\b", errors.__doc__ or "", re.MULTILINE)
    assert [(len(indent) // 4, name) for indent, name in drawn] == [(depth(cls), cls.__name__) for cls in walk()]


def walk(cls: type[HeadraceError] = HeadraceError) -> list[type[HeadraceError]]:
    children = [child for child in CLASSES if child.__bases__[0] is cls]
    return [cls, *(deeper for child in children for deeper in walk(child))]


def depth(cls: type[HeadraceError]) -> int:
    return cls.__mro__.index(HeadraceError)
