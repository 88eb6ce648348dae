"""Parameters of stages as they are stored: as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.core.errors import UnsupportedStepError


def jsonable(stage: str, name: str, value: Any) -> Any:
    """Return a parameter as a JSON value; UnsupportedStepError if it is none, and so cannot be stored."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return [jsonable(stage, name, item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): jsonable(stage, name, item) for key, item in value.items()}
    raise UnsupportedStepError(
        f"parameter {name!r} of {stage} is {value!r}, which cannot be stored without storing code",
        hint="Use plain values; a function has no place in a saved pipeline.",
        stage=stage,
    )


def hashable(value: Any) -> Any:
    """Return a stored value as a parameter has it: lists are tuples."""
    return tuple(hashable(item) for item in value) if isinstance(value, list) else value
