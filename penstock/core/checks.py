"""Small demands on a parsed document; a ValueError names the one that it does not meet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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
