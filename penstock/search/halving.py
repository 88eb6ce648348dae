"""Successive halving: many trials with little, the best of them with more, few with all."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.core.errors import ConfigError
from penstock.pipeline.pipeline import Pipeline
from penstock.search.dimensions import Branch, Dimensions, Listed, Suggestion, assign, every_dimension
from penstock.search.logged_study import Proposal, Unpruned, rank
from penstock.search.spaces import LoggedSpace, PlannedSpace, SpacePlan, check_settings, check_size, grid
from penstock.search.study import Direction
from penstock.search.trial_log import Record

ROWS = "rows"


@dataclass(frozen=True)
class HalvingSpace(LoggedSpace):
    """A space whose trials compete in rungs: what `halving` gives.

    Attributes
    ----------
    candidates : Space
    factor : int
    resource : str
    resources : tuple of float or int
        What a trial has on each rung: a fraction of the rows, or the value of a parameter.
    """

    candidates: PlannedSpace
    factor: int
    resource: str
    resources: tuple[float, ...]

    def __len__(self) -> int:
        return sum(rung_sizes(len(self.candidates), self.factor, len(self.resources)))

    def __repr__(self) -> str:
        sizes = rung_sizes(len(self.candidates), self.factor, len(self.resources))
        rungs = (f"{size} with {resource:.3g}" for size, resource in zip(sizes, self.resources, strict=True))
        return f"halving of {self.candidates.strategy} over {self.resource}: {', '.join(rungs)}"

    def check(self, pipeline: Pipeline) -> None:
        """Raise ConfigError for a trial that the pipeline does not take."""
        self.candidates.check(pipeline)
        if self.resource != ROWS:
            check_settings(pipeline, self._first_on_every_rung())

    def plan(self, *, is_stored: bool) -> SpacePlan:
        """Return the way of handing out a rung at once."""
        on_rungs = self.resource if self.resource != ROWS else None
        strategy = Halving(self.candidates.suggestions, self.factor, self.resources, on_rungs)
        parts = {
            "strategy": f"halving of {self.candidates.strategy}",
            "seed": self.candidates.seed,
            "candidates": len(self.candidates),
            "factor": self.factor,
            "resources": self.resources,
        }
        return self._dimensions(), strategy, parts

    def _dimensions(self) -> Dimensions:
        if self.resource == ROWS:
            return self.candidates.dimensions
        values = tuple(Branch(resource, ()) for resource in self.resources)
        return (*self.candidates.dimensions, Listed(self.resource, self.resource, values))

    def _first_on_every_rung(self) -> Iterator[dict[str, Any]]:
        first = self.candidates.suggestions[0]
        for rung in range(len(self.resources)):
            yield assign(self._dimensions(), {**first, self.resource: rung})


@dataclass(frozen=True)
class Halving(Unpruned):
    """The strategy of giving the best of a rung more on the next one."""

    candidates: tuple[Suggestion, ...] = field(repr=False)
    factor: int
    resources: tuple[float, ...]
    address: str | None

    @property
    def n_trials(self) -> int:
        """How many there are on all rungs."""
        return sum(rung_sizes(len(self.candidates), self.factor, len(self.resources)))

    def propose(self, records: Sequence[Record], direction: Direction) -> list[Proposal]:
        """Return the trials of the next rung, in the order in which they were on the first."""
        rung = 1 + records[-1].batch if records else 0
        if rung == len(self.resources):
            return []
        if rung == 0:
            return [self._proposal(suggestion, rung) for suggestion in self.candidates]
        last = [record for record in records if record.batch == rung - 1]
        best = rank(last, direction)[: math.ceil(len(last) / self.factor)]
        return [self._proposal(record.suggestion, rung) for record in sorted(best, key=lambda record: record.number)]

    def _proposal(self, suggestion: Suggestion, rung: int) -> Proposal:
        if self.address is None:
            return Proposal(suggestion, self.resources[rung])
        return Proposal({**suggestion, self.address: rung})


def rung_sizes(candidates: int, factor: int, rungs: int) -> list[int]:
    """Return how many trials each rung has at most.

    Examples
    --------
    >>> rung_sizes(20, 3, 3)
    [20, 7, 3]
    """
    sizes = [candidates]
    while len(sizes) < rungs:
        sizes.append(math.ceil(sizes[-1] / factor))
    return sizes


def halving(
    space: PlannedSpace | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    factor: int = 3,
    resource: str = ROWS,
    min_resources: float | None = None,
    max_resources: int | None = None,
) -> HalvingSpace:
    """Return a space whose trials compete in rungs, each with `factor` times as much as the one before, the last all.

    All trials are run with little; the best ``1 / factor`` of them, rounded up, again with more, until few have all.
    This is scikit-learn's ``HalvingGridSearchCV`` and ``HalvingRandomSearchCV``, but that the last rung has all.

    Parameters
    ----------
    space : Space or mapping
        What `grid` or `random` gives; a mapping, or a sequence of them, is a grid.
    factor : int, default 3
        At least 2.
    resource : str, default "rows"
        What there is little of at first: rows to train on, or a parameter by its address, ``model.num_boost_round``.
    min_resources : float or int, optional
        The least that a rung may have: a fraction of the rows, or a value of the parameter. Unless given there are as
        many rungs as it takes to leave no more than `factor` trials for the last.
    max_resources : int, optional
        What the last rung has of the parameter; of rows it has all.

    Returns
    -------
    Space
        Every rung is a batch. A trial that goes on has a number for each rung. Those on fewer rows do not compete for
        the best.

    Raises
    ------
    ConfigError
        A number is out of its range; the space gives the parameter that is the resource.

    Examples
    --------
    >>> halving({"model.max_depth": [2, 4, 6, 8], "model.learning_rate": [0.03, 0.1, 0.3]})
    halving of grid over rows: 12 with 0.111, 4 with 0.333, 2 with 1
    """
    candidates = space if isinstance(space, PlannedSpace) else grid(space)
    check_size("factor", factor)
    if factor < 2:
        raise ConfigError(f"factor is {factor}, expected at least 2")
    rungs = 1 + _log_floor(len(candidates), factor)
    if resource == ROWS:
        return HalvingSpace(candidates, factor, resource, _fractions(rungs, factor, min_resources, max_resources))
    if resource in {each.address for each in every_dimension(candidates.dimensions)}:
        raise ConfigError(
            f"the space gives {resource!r}, which is the resource of its rungs", hint="Leave it out there."
        )
    return HalvingSpace(candidates, factor, resource, _values(rungs, factor, min_resources, max_resources))


def _fractions(rungs: int, factor: int, least: float | None, most: int | None) -> tuple[float, ...]:
    if most is not None:
        raise ConfigError("max_resources is of a parameter; the last rung has all rows")
    if least is not None and not 0 < least <= 1:
        raise ConfigError(f"min_resources is {least!r}, expected a fraction of the rows, above 0 and at most 1")
    powers = (power for power in reversed(range(rungs)) if least is None or factor**-power >= least)
    return tuple(float(factor**-power) for power in powers)


def _values(rungs: int, factor: int, least: float | None, most: int | None) -> tuple[int, ...]:
    check_size("max_resources", most)
    check_size("min_resources", least)  # type: ignore[arg-type]
    if most is None:
        raise ConfigError("max_resources is None, expected what the last rung has of the parameter")
    values = tuple(most // factor**power for power in reversed(range(rungs)) if most // factor**power >= (least or 1))
    if not values:
        raise ConfigError(f"min_resources is {least}, expected at most max_resources, {most}")
    return values


def _log_floor(number: int, base: int) -> int:
    """Return the greatest power of a base that is no more than a number, without rounding."""
    power = 0
    while base ** (power + 1) <= number:
        power += 1
    return power
