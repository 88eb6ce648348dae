"""Parameters of stages and evaluators as they are stored: as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from penstock.core.errors import ConfigError, UnsupportedStepError, did_you_mean

Made = TypeVar("Made")


def stored_parameters(owner: Any, title: str) -> dict[str, Any]:
    """Return the fields of a stage or an evaluator as JSON values; UnsupportedStepError for one that is code."""
    return {field.name: jsonable(title, field.name, getattr(owner, field.name)) for field in fields(owner)}


def from_stored(kind: type[Made], values: Mapping[str, Any]) -> Made:
    """Return the stage or evaluator with these parameters; lists stand for tuples.

    Raises
    ------
    ConfigError
        A parameter is not known.
    """
    name, known = kind.__name__, [field.name for field in fields(kind)]  # type: ignore[arg-type]
    for parameter in values:
        if parameter not in known:
            raise ConfigError(
                f"{name} has no parameter {parameter!r}.{did_you_mean(parameter, known)} It has: {', '.join(known)}",
                stage=name,
            )
    return kind(**{parameter: hashable(value) for parameter, value in values.items()})


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
