"""Constraints on features by their position, as XGBoost's core takes them; names are its Python package's."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.core.errors import ConfigError

Names = Sequence[str] | None


def by_position(parameters: Mapping[str, Any], features: Names, stage: str) -> dict[str, Any]:
    """Return parameters with ``monotone_constraints`` and ``interaction_constraints`` by the position of features.

    Parameters
    ----------
    parameters : mapping
        Signs, by the name of a feature or in the order of features; groups of names or positions. Or as texts.
    features : sequence of str or None
        None where they are not known yet: then whatever needs no names is checked.
    stage : str

    Raises
    ------
    ConfigError
        A sign is none of -1, 0 and 1, there are not as many as features, or there is no such feature.

    Examples
    --------
    >>> by_position({"monotone_constraints": {"b": 1}}, ("a", "b"), "XGBoostRegressor")
    {'monotone_constraints': (0, 1)}
    >>> by_position({"interaction_constraints": [["a"], ["b", "c"]]}, ("a", "b", "c"), "XGBoostRegressor")
    {'interaction_constraints': '[[0], [1, 2]]'}
    """
    translated = {name: _translated(name, parameters[name], features, stage) for name in _READERS if name in parameters}
    return {**parameters, **translated}


def _translated(name: str, value: Any, features: Names, stage: str) -> Any:
    if value is None or (isinstance(value, str) and not value):
        return value
    read, expected = _READERS[name]
    try:
        return read(_parsed(value) if isinstance(value, str) else value, features)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{name} of {stage} is {value!r:.200}: {error}", hint=expected, stage=stage) from error


def _parsed(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError) as error:
        raise ValueError("a text of neither numbers nor names") from error


def _signs(value: Any, features: Names) -> tuple[int, ...]:
    signs = value if isinstance(value, Mapping) else (value,) if isinstance(value, int) else tuple(value)
    wrong = [sign for sign in (signs.values() if isinstance(signs, Mapping) else signs) if sign not in (-1, 0, 1)]
    if wrong:
        raise ValueError(f"{wrong[0]!r} is no sign")
    if isinstance(signs, Mapping):
        for name in signs if features is not None else ():
            _position(name, features)
        return tuple(int(signs.get(name, 0)) for name in features or ())
    if features is not None and len(signs) != len(features):
        raise ValueError(f"{len(signs)} signs for {len(features)} feature(s)")
    return tuple(map(int, signs))


def _groups(value: Any, features: Names) -> str:
    wrong = [group for group in value if isinstance(group, str)]
    if wrong:
        raise ValueError(f"{wrong[0]!r} is no group")
    return json.dumps([[_position(member, features) for member in group] for group in value])


def _position(member: Any, features: Names) -> int:
    if not isinstance(member, str | int):
        raise ValueError(f"{member!r} is neither a name nor a position")
    if features is None:
        return 0
    if member not in (features if isinstance(member, str) else range(len(features))):
        raise ValueError(f"{member!r} is not among the features {', '.join(map(repr, features[:10]))}")
    return features.index(member) if isinstance(member, str) else member


_READERS: Mapping[str, tuple[Callable[[Any, Names], Any], str]] = {
    "monotone_constraints": (_signs, "Pass a sign (-1, 0 or 1) for each feature, or those of some by name: {'x': 1}."),
    "interaction_constraints": (_groups, "Pass groups of features, by name or position: [['x', 'y'], ['z']]."),
}
CONSTRAINTS = frozenset(_READERS)
