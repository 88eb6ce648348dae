"""Spaces of parameters in YAML: lists of values, ranges, stages by their names, and parameters that go with a value."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field

from penstock.config.settings import Settings
from penstock.config.strict_yaml import shorten
from penstock.core.errors import ConfigError, UnsupportedStepError
from penstock.core.extras import importing
from penstock.search.dimensions import when
from penstock.stages.base import Stage
from penstock.stages.registry import lookup

Number = int | float


class ValueRange(BaseModel, extra="forbid"):
    """Numbers from ``low`` to ``high``, both included; of a logarithmic range each power of ten is as likely."""

    distribution: Literal["uniform", "log_uniform", "int_uniform", "int_log_uniform"]
    low: Number
    high: Number
    step: Number | None = None


class Choice(BaseModel, extra="forbid"):
    """One value of a list, or a stage, by the name of its class and parameters, with what is searched beside it."""

    value: Any = None
    stage: str | None = None
    params: dict[str, Any] = {}
    space: dict[str, Any] = Field(default={})


@dataclass(frozen=True)
class _Reader:
    settings: Settings
    stages: Mapping[str, type[Stage]]
    left_out: Collection[str]

    def space(self, *at: str | int) -> dict[str, Any]:
        """Return a mapping of addresses to values as `grid` and others take it."""
        entries = self.settings.section(*at).values
        return {name: self._values((*at, name), entry) for name, entry in entries.items() if name not in self.left_out}

    def _values(self, at: tuple[str | int, ...], entry: Any) -> Any:
        if isinstance(entry, dict):
            return self._range(at)
        if not isinstance(entry, list) or not entry:
            raise ConfigError(
                f"{self.settings.where(*at)}: {at[-1]} is {shorten(entry)}, expected a list of values, or a range",
                hint="A range is {distribution: log_uniform, low: 0.01, high: 1.0}.",
            )
        return [self._choice((*at, place)) if isinstance(value, dict) else value for place, value in enumerate(entry)]

    def _range(self, at: tuple[str | int, ...]) -> Any:
        limits = self.settings.section(*at).fill(ValueRange)
        with importing("Optuna", "optuna"):
            from optuna.distributions import FloatDistribution, IntDistribution
        whole, log = limits.distribution.startswith("int"), "log" in limits.distribution
        kind: Any = IntDistribution if whole else FloatDistribution
        step = {} if limits.step is None else {"step": limits.step}
        try:
            return kind(limits.low, limits.high, log=log, **step)
        except ValueError as error:
            raise ConfigError(f"{self.settings.where(*at)}: {error}") from error

    def _choice(self, at: tuple[str | int, ...]) -> Any:
        choice = self.settings.section(*at).fill(Choice)
        if (choice.stage is None) == ("value" not in choice.model_fields_set):
            raise ConfigError(
                f"{self.settings.where(*at)}: {shorten(self.settings.section(*at).values)} has"
                f" {'neither a stage nor a value' if choice.stage is None else 'a stage and a value'}",
                hint="{stage: StandardScaler, params: {columns: [x]}}, or {value: 1}; a mapping is a value only so.",
            )
        value = choice.value if choice.stage is None else self._stage(at, choice.stage, choice.params)
        return when(value, self.space(*at, "space")) if choice.space else value

    def _stage(self, at: tuple[str | int, ...], name: str, params: Mapping[str, Any]) -> Stage:
        """Return a stage of the library or of the pipeline's own; nothing is imported by its name."""
        try:
            return lookup(name, self.stages).from_parameters(params)
        except (ConfigError, UnsupportedStepError) as error:
            raise ConfigError(f"{self.settings.where(*at)}: {error.message}", hint=error.hint) from error
        except (TypeError, ValueError, AttributeError) as error:
            raise ConfigError(f"{self.settings.where(*at)}: {name} does not take {shorten(params)}: {error}") from error


def read_space(
    section: Settings, stages: Mapping[str, type[Stage]], left_out: Collection[str] = ()
) -> dict[str, Any] | list[dict[str, Any]]:
    """Return ``space`` of a section as `grid` and others take it.

    Parameters
    ----------
    section : Settings
        ``space`` is a mapping of addresses to lists of values or a `ValueRange`, or a list of such, their union.
        A value of a list that is a mapping is a `Choice`.
    stages : mapping of str to type of Stage
        Stages that may be named besides those of the library.
    left_out : collection of str
        Addresses that are not searched.

    Raises
    ------
    ConfigError
        A name is not known, or a value is none; says where it stands.
    MissingExtraError
        There is a range, and Optuna, whose distributions they are, is not installed.

    Examples
    --------
    >>> from penstock.config.settings import Settings
    >>> section = Settings({"space": {"model.max_depth": [3, 6], "model.reg_param": [{"value": 0.5}]}})
    >>> read_space(section, {})
    {'model.max_depth': [3, 6], 'model.reg_param': [0.5]}
    """
    reader = _Reader(section, stages, left_out)
    space = section.values["space"]
    if isinstance(space, list):
        return [reader.space("space", place) for place in range(len(space))]
    return reader.space("space")
