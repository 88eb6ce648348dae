"""Spaces whose trials are known from the start: every combination of a grid, or some at random."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.core.errors import ConfigError, PenstockError, check_one_of
from penstock.core.notices import warn
from penstock.pipeline.pipeline import Pipeline
from penstock.search import dimensions as dims
from penstock.search.descriptions import label
from penstock.search.dimensions import Dimensions, Suggestion
from penstock.search.logged_study import LoggedStudy, Proposal, Strategy, Unpruned
from penstock.search.storage import open_log
from penstock.search.study import DIRECTIONS, Direction, Study
from penstock.search.trial_log import Record

_ATTEMPTS = 1000
_MOST = 1_000_000
"""More trials no search ends; beyond it a number is a slip."""
_STORED_BATCH = 16

SpacePlan = tuple[Dimensions, Strategy, Mapping[str, Any]]
"""The parameters of a space, the strategy that goes through them, and what else tells one search of it from another."""


class LoggedSpace(ABC):
    """A space whose studies are a strategy and a log."""

    @abstractmethod
    def plan(self, *, is_stored: bool) -> SpacePlan:
        """Return how the space is gone through in a study that is kept in a storage, or is not."""

    def start(
        self,
        fingerprint: Mapping[str, str],
        direction: Direction = "maximize",
        storage: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Study:
        """Return a study: a new one, or that which is in the storage already."""
        check_one_of("direction", direction, DIRECTIONS)
        dimensions, strategy, parts = self.plan(is_stored=storage is not None)
        whole = {**fingerprint, **space_fingerprint(dimensions, **parts)}
        log = open_log(storage, storage_options, whole, direction, dimensions)
        return LoggedStudy(dimensions, strategy, log, direction)


@dataclass(frozen=True)
class PlannedSpace(LoggedSpace):
    """A space whose trials are all known: what `grid` and `random` give.

    Its length is how many there are, and iterating over it gives their parameters, in order.
    """

    strategy: str
    dimensions: Dimensions = field(repr=False)
    suggestions: tuple[Suggestion, ...] = field(repr=False)
    seed: int | None = None
    batch_size: int | None = None

    def __len__(self) -> int:
        return len(self.suggestions)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (dims.assign(self.dimensions, suggestion) for suggestion in self.suggestions)

    def __repr__(self) -> str:
        return f"{self.strategy} of {len(self)} trials"

    def check(self, pipeline: Pipeline) -> None:
        """Raise ConfigError for the first trial that the pipeline does not take, and for ends of ranges."""
        check_settings(pipeline, self)
        check_settings(pipeline, ends(self.dimensions))

    def plan(self, *, is_stored: bool) -> SpacePlan:
        """Return the way of handing out `batch_size` trials at once."""
        batch_size = self.batch_size or (_STORED_BATCH if is_stored else None)
        parts = {"strategy": self.strategy, "seed": self.seed}
        return self.dimensions, Planned(self.suggestions, batch_size), parts


@dataclass(frozen=True)
class Planned(Unpruned):
    """The strategy of going through a list."""

    suggestions: tuple[Suggestion, ...]
    batch_size: int | None

    @property
    def n_trials(self) -> int:
        """How many there are."""
        return len(self.suggestions)

    def propose(self, records: Sequence[Record], direction: Direction) -> list[Proposal]:
        """Return the next on the list."""
        first = len(records)
        end = None if self.batch_size is None else first + self.batch_size
        return [Proposal(suggestion) for suggestion in self.suggestions[first:end]]


def grid(space: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, batch_size: int | None = None) -> PlannedSpace:
    """Return the space of every combination of values.

    Parameters
    ----------
    space : mapping of str to sequence, or sequence of such mappings
        By address, as `Pipeline.with_params` has them, the values to try: parameters, whole stages, None for a stage
        that is left out; a value with parameters of its own is written `when`. A sequence of mappings is the union of
        their combinations.
    batch_size : int, optional
        How many trials are run together; unless given all of them, or 16 of a study that is kept, as what runs when it
        is killed is run again.

    Returns
    -------
    Space
        Its trials are in the order in which the parameters are written, the last varying fastest, as in nested loops;
        scikit-learn sorts the names before. A combination that occurs before is left out.

    Raises
    ------
    ConfigError
        It is empty, or a parameter has no values, or a distribution in place of a list.

    Examples
    --------
    >>> space = grid({"clip.upper": [10, 20], "model.reg_param": [0.0, 0.1]})
    >>> for params in space:
    ...     print(params)
    {'clip.upper': 10, 'model.reg_param': 0.0}
    {'clip.upper': 10, 'model.reg_param': 0.1}
    {'clip.upper': 20, 'model.reg_param': 0.0}
    {'clip.upper': 20, 'model.reg_param': 0.1}
    """
    check_size("batch_size", batch_size)
    dimensions = dims.read_space(space)
    if dims.count_combinations(dimensions) == float("inf"):
        raise ConfigError(
            "a grid has lists of values, and this one has a distribution for one of its parameters",
            hint="Use random, or write the values out.",
        )
    return PlannedSpace("grid", dimensions, _different(dimensions, dims.combinations(dimensions)), None, batch_size)


def random(
    space: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, n: int, seed: int = 0, batch_size: int | None = None
) -> PlannedSpace:
    """Return a space of settings drawn at random.

    Parameters
    ----------
    space : mapping of str to distribution or sequence, or sequence of such mappings
        As for `grid`, or for a parameter a distribution: a frozen one of scipy.stats, or Optuna's FloatDistribution,
        IntDistribution or CategoricalDistribution. Of lists every value is as likely, of several mappings every one.
    n : int
        How many settings. One that was drawn before is drawn again; where there are no more than `n`, all are taken,
        with a warning.
    seed : int
        Equal seeds draw equal settings, of which a greater `n` only adds more.
    batch_size : int, optional
        How many trials are run together; unless given all of them, or 16 of a study that is kept, as what runs when it
        is killed is run again.

    Raises
    ------
    ConfigError
        As for `grid`; `n` is no positive integer, or `seed` is negative.

    Examples
    --------
    >>> from scipy import stats
    >>> space = random({"model.max_depth": [3, 6], "model.learning_rate": stats.loguniform(0.01, 1)}, n=20, seed=7)
    >>> len(space), all(0.01 <= params["model.learning_rate"] <= 1 for params in space)
    (20, True)
    """
    check_size("n", n)
    check_seed(seed)
    check_size("batch_size", batch_size)
    dimensions = dims.read_space(space)
    suggestions = _drawn(dimensions, n, seed)
    return PlannedSpace("random", dimensions, suggestions, seed, batch_size)


def check_size(name: str, value: int | None) -> None:
    """Raise ConfigError unless a value is a positive integer that trials may be counted by, or None."""
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST):
        raise ConfigError(f"{name} is {value!r}, expected a positive integer, at most {_MOST:,}")


def check_seed(seed: int) -> None:
    """Raise ConfigError unless a seed is an integer that is not negative."""
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ConfigError(f"seed is {seed!r}, expected an integer, 0 or more")


def _different(dimensions: Dimensions, suggestions: Iterable[Suggestion]) -> tuple[Suggestion, ...]:
    """Return the suggestions without those whose setting occurs before."""
    by_setting: dict[str, Suggestion] = {}
    for suggestion in suggestions:
        by_setting.setdefault(label(dims.assign(dimensions, suggestion)), suggestion)
    return tuple(by_setting.values())


def _drawn(dimensions: Dimensions, n: int, seed: int) -> tuple[Suggestion, ...]:
    if dims.count_combinations(dimensions) <= n:
        every = _different(dimensions, dims.combinations(dimensions))
        if len(every) < n:
            warn(
                f"the space has {len(every)} settings, fewer than the {n} to draw: all of them are taken", stacklevel=3
            )
        return every
    by_setting: dict[str, Suggestion] = {}
    for number in range(n):
        generator = np.random.default_rng([seed, number])
        for _ in range(_ATTEMPTS):
            suggestion = draw(dimensions, generator)
            setting = label(dims.assign(dimensions, suggestion))
            if setting not in by_setting:
                by_setting[setting] = suggestion
                break
    return tuple(by_setting.values())


def draw(dimensions: Dimensions, generator: np.random.Generator) -> dict[str, int | float]:
    """Return a suggestion at random: of lists every value is as likely."""
    return dims.suggest(
        dimensions,
        lambda listed: int(generator.integers(len(listed.branches))),
        lambda ranged: ranged.drawn.draw(generator),
    )


def check_settings(pipeline: Pipeline, settings: Iterable[Mapping[str, Any]]) -> None:
    """Raise ConfigError for the first of the settings that a pipeline does not take."""
    for params in settings:
        try:
            pipeline.with_params(params)
        except PenstockError as error:
            shown = label(params)
            shown = shown if len(shown) < 200 else f"{shown[:200]}..."
            raise ConfigError(
                f"{error.message} (the space has {shown})", hint=error.hint or _HINT, **error.place
            ) from error


_HINT = "A parameter that goes with some values of another alone is written with ps.when."


def ends(dimensions: Dimensions) -> Iterator[dict[str, Any]]:
    """Yield settings in which every value of a list and both ends of every range occur at least once."""
    yield from (dims.assign(dimensions, suggestion) for suggestion in _ends(dimensions))


def _ends(dimensions: Dimensions) -> list[dict[str, int | float]]:
    """Return suggestions that go through all parameters side by side, those with fewer values from the start again."""
    columns = [_values(dimension) for dimension in dimensions]
    longest = max(map(len, columns), default=1)
    return [
        {name: picked for column in columns for name, picked in column[row % len(column)].items()}
        for row in range(longest)
    ]


def _values(dimension: dims.Dimension) -> list[dict[str, int | float]]:
    if isinstance(dimension, dims.Ranged):
        return [{dimension.name: end} for end in dimension.drawn.ends()]
    return [
        {dimension.name: position, **inner}
        for position, branch in enumerate(dimension.branches)
        for inner in _ends(branch.dimensions)
    ]


def space_fingerprint(dimensions: Dimensions, strategy: str, seed: int | None, **options: Any) -> dict[str, str]:
    """Return what tells a space from others, by names that people read."""
    text = json.dumps(dims.describe_space(dimensions))
    parts = {"space": hashlib.sha256(text.encode()).hexdigest()[:16], "strategy": strategy, **options}
    return {name: str(value) for name, value in {**parts, "seed of the search": seed}.items() if value is not None}
