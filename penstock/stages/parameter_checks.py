"""Checks of parameters, when a stage is made: a choice among words, a number in its range.

A field says by its metadata what it may be: ``k: int = field(default=2, metadata=in_range(least=1, whole=True))``.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from penstock.core.errors import ConfigError, check_one_of
from penstock.core.several import settle_several

if TYPE_CHECKING:
    from penstock.stages.base import Stage


def wrong_parameter(stage: Any, name: str, expected: str, hint: str | None = None) -> ConfigError:
    """Return the error about a parameter of a stage or an evaluator: what it is, and what was expected."""
    problem = f"{name} of {stage.title} is {getattr(stage, name)!r}, expected {expected}"
    return ConfigError(problem, hint=hint, stage=stage.title)


_CHECK, _ADDED = "check", "added"
_DECLARED = {"bool": "True or False", "int": "an integer", "float": "a number", "str": "a text"}


def check_declared(stage: Any) -> None:
    """Raise ConfigError for what a parameter may not be by its metadata, for None, and for what is no bool.

    A parameter of several values is a tuple then; one value stands for a list of one.

    Examples
    --------
    >>> from penstock.stages import PCA, StandardScaler
    >>> StandardScaler("x", with_mean="no")
    Traceback (most recent call last):
    penstock.errors.ConfigError: with_mean of StandardScaler is 'no', expected True or False
    >>> PCA("x", k=0)
    Traceback (most recent call last):
    penstock.errors.ConfigError: k of PCA is 0, expected an integer >= 1
    """
    settle_several(stage, partial(wrong_parameter, stage))
    for field in dataclasses.fields(stage):
        value, declared = getattr(stage, field.name), getattr(field.type, "__name__", field.type)
        wrong = not isinstance(value, bool) if declared == "bool" else value is None
        if wrong and declared in _DECLARED and value is not field.default:
            raise wrong_parameter(stage, field.name, _DECLARED[declared])
        if _CHECK in field.metadata:
            field.metadata[_CHECK](stage, field.name)


def checked_by(check: Callable[[Any, str], None]) -> dict[str, Any]:
    """Return the metadata of a field with a check of its own, which is called with the stage and the name."""
    return {_CHECK: check}


def added_later(metadata: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """Return the metadata of a field that stages of models saved before lack; where it has its default it is not told.

    Parameters
    ----------
    metadata : mapping, optional
        What else there is, the check of a field say.
    """
    return {**metadata, _ADDED: True}


def defaults_added(stage: Any) -> set[str]:
    """Return the parameters that were added later, and have their default."""
    later = (field for field in dataclasses.fields(stage) if _ADDED in field.metadata)
    return {field.name for field in later if getattr(stage, field.name) == field.default}


def one_of(*choices: str) -> dict[str, Any]:
    """Return the metadata of a field that is one of some words; None is left alone."""
    return checked_by(partial(_check_word, choices=choices))


def in_range(**limits: Any) -> dict[str, Any]:
    """Return the metadata of a field that is a number within limits, those of `check_number`, or None."""
    return checked_by(partial(check_number, **limits))


def in_range_or(*words: str, **limits: Any) -> dict[str, Any]:
    """Return the metadata of a field that is a number within limits, or one of some words, or None."""
    return checked_by(partial(_check_number_or_word, words=words, limits=limits))


def _check_number_or_word(stage: Stage, name: str, words: tuple[str, ...], limits: dict[str, Any]) -> None:
    value = getattr(stage, name)
    if isinstance(value, str):
        check_choice(stage, name, words)
    else:
        check_number(stage, name, **limits)


def _check_word(stage: Stage, name: str, choices: tuple[str, ...]) -> None:
    if getattr(stage, name) is not None:
        check_choice(stage, name, choices)


def check_choice(stage: Stage, name: str, choices: tuple[str, ...]) -> None:
    """Raise ConfigError unless a parameter is one of `choices`."""
    check_one_of(f"{name} of {stage.title}", getattr(stage, name), choices, stage=stage.title)


def is_number(value: object) -> bool:
    """Return whether a value is an integer or a float, and neither a bool nor NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def is_finite_number(value: Any) -> bool:
    """Return whether a value is a number that float64 has, be it an integer."""
    return is_number(value) and abs(value) <= sys.float_info.max


def check_number(stage: Stage, name: str, *, least: float | None = None, above: float | None = None,
                 most: float | None = None, whole: bool = False) -> None:  # fmt: skip
    """Raise ConfigError unless a parameter is a number in its range; None is left alone."""
    value = getattr(stage, name)
    if value is None:
        return
    if (
        is_number(value)
        and (isinstance(value, int) or not whole)
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
