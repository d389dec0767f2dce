# SPDX-License-Identifier: Apache-2.0
"""Makes frozen values of a parsed JSON document, by the types of their fields."""

from __future__ import annotations

import functools
import types
from dataclasses import fields, is_dataclass
from typing import TypeVar, Union, cast, get_args, get_origin, get_type_hints

_T = TypeVar("_T")


def build(cls: type[_T], document: object) -> _T:
    """Builds a dataclass of an object; keys that it does not know are left alone, a newer engine may have them.

    Args:
        cls: The dataclass. A field whose name in the document is no name in Python has it in its metadata, as ``key``.
        document: The object.

    Raises:
        ValueError: Something is missing or has another type; the message says where.
    """
    return cast("_T", _value(cls, document, "document"))


def _value(kind: object, value: object, where: str) -> object:
    if is_dataclass(kind):
        return _object(cast("type", kind), value, where)
    if get_origin(kind) in (Union, types.UnionType):
        # Of the form X | None, all of them.
        return None if value is None else _value(get_args(kind)[0], value, where)
    if get_origin(kind) is tuple:
        return _items(get_args(kind), value, where)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, cast("type", kind)):
        message = f"{where} is {value!r}, where {kind} was expected"
        raise ValueError(message)  # noqa: TRY004 a document of another form, not a mistake in the program
    return value


def _items(kinds: tuple[object, ...], value: object, where: str) -> tuple[object, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        message = f"{where} is {value!r}, where a list was expected"
        raise ValueError(message)  # noqa: TRY004 as above
    if kinds[-1] is Ellipsis:
        return tuple(_value(kinds[0], item, f"{where}[{number}]") for number, item in enumerate(value))
    return tuple(_value(kind, item, where) for kind, item in zip(kinds, value, strict=True))


def _object(cls: type, value: object, where: str) -> object:
    if not isinstance(value, dict):
        message = f"{where} is {value!r}, where an object was expected"
        raise ValueError(message)  # noqa: TRY004 as above
    return cls(**{name: _value(kind, value.get(key), f"{where}.{key}") for name, key, kind in _plan(cls)})


@functools.cache
def _plan(cls: type) -> tuple[tuple[str, str, object], ...]:
    """The name, the key and the type of each field: looked up once, documents come every second."""
    kinds = get_type_hints(cls)
    return tuple((each.name, each.metadata.get("key", each.name), kinds[each.name]) for each in fields(cls))
