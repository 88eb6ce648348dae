"""Small demands on a parsed document; a ValueError names the one that it does not meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Shape = tuple[Callable[[Any], object], str]
"""A test of a value, and a name for all that pass it."""


def need(condition: object, fault: str) -> None:
    """Raise ValueError with `fault` unless `condition` is true."""
    if not condition:
        raise ValueError(fault)


def exact_keys(document: Any, names: set[str], what: str, optional: frozenset[str] = frozenset()) -> None:
    """Demand an object with these keys and no others.

    Examples
    --------
    >>> exact_keys({"a": 1}, {"a"}, "the document")
    """
    need(isinstance(document, dict), f"{what} is no object")
    odd = (names ^ document.keys()) - optional
    need(not odd, f"{what} lacks or adds {', '.join(sorted(odd))}")


def is_objects(value: Any) -> bool:
    """Return whether a value is a list of objects."""
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def is_number(value: Any) -> bool:
    """Return whether a value is a number of JSON: none of true and false."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_shapes(document: Mapping[str, Any], shapes: Mapping[str, Shape]) -> None:
    """Demand of each field that its value, or null where there is none, has its shape.

    Examples
    --------
    >>> check_shapes({"rows": "3"}, {"rows": (is_number, "a number")})
    Traceback (most recent call last):
    ValueError: rows is '3', expected a number
    """
    for name, (is_so, expected) in shapes.items():
        value = document.get(name)
        if not is_so(value):
            raise ValueError(f"{name} is {value!r:.50}, expected {expected}")


def whole(settings: Mapping[str, Any], name: str) -> int:
    """Return a setting, stored as text, that must be an integer of 0 or more.

    Examples
    --------
    >>> whole({"num_trees": "30"}, "num_trees")
    30
    """
    value = settings[name]
    need(isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10, f"{name} is {value!r}")
    return int(value)
