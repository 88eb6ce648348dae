"""The search of a pipeline, as its file and options have it: what to try, in which order, and how to measure it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, Field

from penstock.cli.job_setup import JobSetup
from penstock.cli.requests import TuneRequest
from penstock.config.settings import Settings
from penstock.config.strict_yaml import Place, Places, shorten
from penstock.core.errors import ConfigError, MissingExtraError, UnsupportedStepError
from penstock.core.extras import importing
from penstock.pipeline.pipeline import Pipeline
from penstock.search.cross_validator import CrossValidator, TrainValidationSplit
from penstock.search.dimensions import when
from penstock.search.halving import halving
from penstock.search.optuna_search import optuna_search
from penstock.search.spaces import PlannedSpace, grid, random
from penstock.search.study import Space
from penstock.stages.base import Stage
from penstock.stages.evaluation.base import Evaluators
from penstock.stages.registry import lookup

Strategy: TypeAlias = Literal["grid", "random", "tpe", "gp", "cmaes"]


class HalvingSettings(BaseModel, extra="forbid"):
    """Parameters of `penstock.search.halving`, those that are given."""

    factor: int | None = None
    resource: str | None = None
    min_resources: float | int | None = None
    max_resources: int | None = None


class SearchSettings(BaseModel, extra="forbid"):
    """The section ``search`` of a file of a pipeline.

    Attributes
    ----------
    space : dict, or list of dict
        Values to try by address, see `read_space`.
    strategy : str
        How it is gone through: `grid`, `random`, or by a sampler of `optuna_search`.
    n_trials, seed, batch_size, pruner
        As those take them.
    halving : dict, optional
        That a grid, or settings at random, compete as in `penstock.search.halving`: its parameters.
    folds : int or dict
        As `CrossValidator` takes them.
    train_ratio : float, optional
        One split in place of folds.
    metric, on_error
        As `CrossValidator` takes them.
    """

    space: dict[str, Any] | list[dict[str, Any]]
    strategy: Strategy = "grid"
    n_trials: int | None = Field(default=None, ge=1)
    seed: int = 0
    batch_size: int | None = Field(default=None, ge=1)
    pruner: str | None = None
    halving: HalvingSettings | None = None
    folds: int | dict[str, Any] = 5
    train_ratio: float | None = None
    metric: str | None = None
    on_error: Literal["continue", "raise"] = "continue"


_OF_SAMPLERS = {"n_trials", "seed", "batch_size", "pruner"}
_OF_STRATEGIES = _OF_SAMPLERS | {"halving"}
_TAKES = {"grid": {"batch_size", "halving"}, "random": {"n_trials", "seed", "batch_size", "halving"}}
_OPTIONS = {"strategy": "strategy", "n_trials": "trials", "folds": "folds", "metric": "metric"}


def search_of(pipeline: Pipeline, evaluators: Evaluators, setup: JobSetup, request: TuneRequest) -> CrossValidator:
    """Return the search of a pipeline that its files and the options of a request say.

    An address that ``--set`` gives is not searched.

    Raises
    ------
    ConfigError
        There is none, or it has what is not known or not taken; says where it stands. Nothing is read.
    """
    section = setup.settings.search
    if not section.values:
        name = setup.module.name
        hint = f"Write search: with a space: into conf/pipelines/{name}.yaml, or into the section pipeline of a --conf."
        raise ConfigError(f"pipeline {name!r} has no search", hint=hint)
    options = _options(request)
    merged = Settings(options.values, {**section.places, **options.places}).over(section)
    settings = merged.fill(SearchSettings)
    space = read_space(merged, setup.module.stages, setup.settings.assigned)
    try:
        return _cross_validator(pipeline, evaluators, settings, _space(settings, space), request)
    except MissingExtraError:
        raise
    except ConfigError as error:
        raise ConfigError(f"{_place(merged, error)}: {error.message}", hint=error.hint, **error.place) from error


def _options(request: TuneRequest) -> Settings:
    values = {name: value for name, option in _OPTIONS.items() if (value := getattr(request, option)) is not None}
    places: Places = {(name,): Place(f"--{_OPTIONS[name]} {value}", str(value)) for name, value in values.items()}
    return Settings(values, places)


def _space(settings: SearchSettings, space: Any) -> Space:
    taken = settings.model_fields_set & _OF_STRATEGIES
    for name in sorted(taken - _TAKES.get(settings.strategy, _OF_SAMPLERS)):
        raise ConfigError(
            f"{name} is {getattr(settings, name)}, and strategy is {settings.strategy}, which has none",
            hint=f"Leave {name} out, or take another strategy.",
        )
    n_trials, options = settings.n_trials, {name: getattr(settings, name) for name in taken - {"halving", "n_trials"}}
    if settings.strategy == "grid":
        return _competing(settings, grid(space, **options))
    if n_trials is None:
        hint = "Write n_trials: 50 beside it, or --trials 50."
        raise ConfigError(f"strategy is {settings.strategy}, and n_trials is not given", hint=hint)
    if settings.strategy == "random":
        return _competing(settings, random(space, n=n_trials, **options))
    return optuna_search(space, n_trials=n_trials, sampler=settings.strategy, **options)


def _competing(settings: SearchSettings, space: PlannedSpace) -> Space:
    return space if settings.halving is None else halving(space, **settings.halving.model_dump(exclude_unset=True))


def _cross_validator(
    pipeline: Pipeline, evaluators: Evaluators, settings: SearchSettings, space: Space, request: TuneRequest
) -> CrossValidator:
    common: dict[str, Any] = {
        "metric": settings.metric, "study": request.study, "on_error": settings.on_error, "options": request.spmd
    }  # fmt: skip
    if settings.train_ratio is None:
        return CrossValidator(pipeline, space, evaluators, folds=settings.folds, **common)
    if "folds" in settings.model_fields_set:
        raise ConfigError(f"folds is {settings.folds}, and train_ratio is {settings.train_ratio}: one or the other")
    return TrainValidationSplit(pipeline, space, evaluators, train_ratio=settings.train_ratio, **common)


def _place(merged: Settings, error: ConfigError) -> str:
    """Return where in the section the cause of an error stands, as far as is known."""
    space = merged.values.get("space")
    addresses = [each for each in space if each.partition(".")[0] == error.stage] if isinstance(space, dict) else []
    name = error.message.partition(" ")[0]
    at = ("space", addresses[0]) if addresses else (name,) if name in merged.values else ("space",)
    return merged.where(*at)


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
