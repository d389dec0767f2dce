# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from headrace.testing import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_the_first_true_value_is_returned() -> None:
    values: Iterator[object] = iter([None, 0, [], "at last", "too late"])
    assert eventually(lambda: next(values)) == "at last"


def test_the_last_value_is_shown_when_the_time_is_over() -> None:
    with pytest.raises(AssertionError, match=r"not within 0\.01 s; the last value was \[\]"):
        eventually(list, timedelta(milliseconds=10))


def test_an_error_in_the_condition_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        eventually(lambda: 1 / 0)
