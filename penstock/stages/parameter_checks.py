"""Checks of parameters, when a stage is made: a choice among words, a number in its range."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from penstock.core.errors import ConfigError, check_one_of

if TYPE_CHECKING:
    from penstock.stages.base import Stage


def wrong_parameter(stage: Any, name: str, expected: str, hint: str | None = None) -> ConfigError:
    """Return the error about a parameter of a stage or an evaluator: what it is, and what was expected."""
    problem = f"{name} of {stage.title} is {getattr(stage, name)!r}, expected {expected}"
    return ConfigError(problem, hint=hint, stage=stage.title)


_DECLARED = {"bool": "True or False", "int": "an integer", "float": "a number", "str": "a text"}


def check_declared(stage: Any) -> None:
    """Raise ConfigError for None, and for what is no bool, where a parameter is declared otherwise.

    Examples
    --------
    >>> from penstock.stages import StandardScaler
    >>> StandardScaler("x", with_mean="no")
    Traceback (most recent call last):
    penstock.errors.ConfigError: with_mean of StandardScaler is 'no', expected True or False
    """
    for field in dataclasses.fields(stage):
        value, declared = getattr(stage, field.name), getattr(field.type, "__name__", field.type)
        wrong = not isinstance(value, bool) if declared == "bool" else value is None
        if wrong and declared in _DECLARED and value is not field.default:
            raise wrong_parameter(stage, field.name, _DECLARED[declared])


def check_choice(stage: Stage, name: str, choices: tuple[str, ...]) -> None:
    """Raise ConfigError unless a parameter is one of `choices`."""
    check_one_of(f"{name} of {stage.title}", getattr(stage, name), choices, stage=stage.title)


def check_number(stage: Stage, name: str, *, least: float | None = None, above: float | None = None,
                 most: float | None = None, whole: bool = False) -> None:  # fmt: skip
    """Raise ConfigError unless a parameter is a number in its range; None is left alone."""
    value = getattr(stage, name)
    if value is None:
        return
    kinds = (int,) if whole else (int, float)
    right = isinstance(value, kinds) and not isinstance(value, bool) and value == value
    if (
        right
        and (least is None or value >= least)
        and (above is None or value > above)
        and (most is None or value <= most)
    ):
        return
    bounds = (
        [f">= {least}"] * (least is not None)
        + [f"> {above}"] * (above is not None)
        + [f"<= {most}"] * (most is not None)
    )
    expected = " ".join(["an integer" if whole else "a number", " and ".join(bounds)]).strip()
    raise wrong_parameter(stage, name, expected)
