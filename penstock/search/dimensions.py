"""Parameters of a space: for each the values it may have, and with a value the parameters that come with it.

A *suggestion* picks a setting: by the name of a parameter, the position of the value on its list, or what suggests a
value of its range. It is all numbers, so that it can be stored, and a space makes the setting of it again.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from penstock.core.errors import ConfigError
from penstock.search.descriptions import label
from penstock.search.distributions import Drawn, as_drawn, as_values, plain
from penstock.stages.base import Stage

Suggestion = Mapping[str, int | float]


@dataclass(frozen=True)
class Option:
    """A value, and the parameters that there are only beside it."""

    value: Any
    parameters: Mapping[str, Any]


def when(value: Any, parameters: Mapping[str, Any]) -> Option:
    """Return one value of a parameter with parameters that belong to it alone.

    Parameters
    ----------
    value : value
        One of a list: often a stage, one of several.
    parameters : mapping of str to values
        As a space has them, by full addresses; tried only where the parameter has this value.

    Examples
    --------
    >>> import penstock as ps
    >>> from penstock import stages as st
    >>> space = ps.grid({"model": [
    ...     ps.when(st.LogisticRegression("y"), {"model.reg_param": [0.01, 0.1]}),
    ...     ps.when(st.XGBoostClassifier("y"), {"model.max_depth": [3, 6, 9]}),
    ... ]})
    >>> len(space)
    5
    """
    return Option(value, parameters)


@dataclass(frozen=True)
class Branch:
    """One value of a list, with the dimensions that there are only beside it."""

    value: Any
    dimensions: Dimensions


@dataclass(frozen=True)
class Listed:
    """A parameter with a list of values. One without an address picks among spaces, and is no parameter itself."""

    name: str
    address: str | None
    branches: tuple[Branch, ...]

    @property
    def labels(self) -> list[str]:
        """A text for each value, all different."""
        return [str(place) if self.address is None else label(each.value) for place, each in enumerate(self.branches)]


@dataclass(frozen=True)
class Ranged:
    """A parameter whose values are drawn from a distribution."""

    name: str
    address: str
    drawn: Drawn


Dimension: TypeAlias = Listed | Ranged
Dimensions: TypeAlias = tuple[Dimension, ...]


def read_space(space: Any) -> Dimensions:
    """Return the dimensions of a space as a user gives it: a mapping, or a sequence of them for their union.

    Raises
    ------
    ConfigError
        It is empty, or one of its parameters has no values, or two would set one parameter at the same time.
    """
    spaces = [space] if isinstance(space, Mapping) else space
    if not isinstance(spaces, Sequence) or not all(isinstance(each, Mapping) and each for each in spaces) or not spaces:
        raise ConfigError(
            f"the space is {space!r:.100}, expected a mapping with at least one parameter, or a sequence of mappings",
            hint="Write {'model.max_depth': [4, 6, 8]}. Without parameters to search, use cross_validate.",
        )
    occurrences = Counter(address for each in spaces for address in _addresses(each))
    read = [_dimensions(each, occurrences, f"space {place}") for place, each in enumerate(spaces)]
    return read[0] if len(read) == 1 else (Listed("space", None, tuple(Branch(None, each) for each in read)),)


def _addresses(space: Mapping[str, Any]) -> Iterator[str]:
    for address, values in space.items():
        yield address
        for value in values if isinstance(values, list | tuple) else ():
            if isinstance(value, Option):
                yield from _addresses(value.parameters)


def _dimensions(space: Mapping[str, Any], occurrences: Mapping[str, int], where: str) -> Dimensions:
    made: list[Dimension] = []
    for address, values in space.items():
        name = address if occurrences[address] == 1 else f"{address} ({where})"
        drawn = as_drawn(values)
        made.append(Ranged(name, address, drawn) if drawn else _listed(name, address, values, occurrences))
    every = Counter(address for dimension in made for address in _all_addresses(dimension))
    twice = [address for address, count in every.items() if count > 1]
    if twice:
        raise ConfigError(
            f"the space gives {', '.join(map(repr, twice))} twice for one trial",
            hint="Beside `when`, a parameter is either among those that belong to a value, or outside.",
        )
    return tuple(made)


def _listed(name: str, address: str, values: Any, occurrences: Mapping[str, int]) -> Listed:
    options = {label(option.value): option for option in map(_as_option, _checked_values(address, values))}
    branches = (
        Branch(option.value, _dimensions(option.parameters, occurrences, f"{name}={text:.80}"))
        for text, option in options.items()
    )
    return Listed(name, address, tuple(branches))


def _checked_values(address: str, values: Any) -> list[Any]:
    values = as_values(values)
    values = values.tolist() if isinstance(values, np.ndarray) else values
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        kind = "a stage" if isinstance(values, Stage) else repr(values)
        raise ConfigError(
            f"the space has {kind:.100} for {address!r}, expected a list of values or a distribution",
            hint="Write a single value as a list of one, and give a distribution its parameters: stats.uniform(0, 1).",
        )
    if not len(values):
        raise ConfigError(f"the space has no values for {address!r}", hint="Leave it out to keep the pipeline's own.")
    return [plain(value) for value in values]


def _as_option(value: Any) -> Option:
    return value if isinstance(value, Option) else Option(value, {})


def _all_addresses(dimension: Dimension) -> set[str]:
    """Return the addresses that a dimension may set, those beside its values included."""
    if isinstance(dimension, Ranged):
        return {dimension.address}
    inner = {each for branch in dimension.branches for sub in branch.dimensions for each in _all_addresses(sub)}
    if dimension.address in inner:
        raise ConfigError(f"the space gives {dimension.address!r} again beside one of its own values")
    return inner | ({dimension.address} if dimension.address is not None else set())


def every_dimension(dimensions: Dimensions) -> Iterator[Dimension]:
    """Yield the dimensions and, after each, those that there are only beside one of its values."""
    for dimension in dimensions:
        yield dimension
        for branch in dimension.branches if isinstance(dimension, Listed) else ():
            yield from every_dimension(branch.dimensions)


def suggest(
    dimensions: Dimensions, choose: Callable[[Listed], int], draw: Callable[[Ranged], int | float]
) -> dict[str, int | float]:
    """Return a suggestion that picks a value for every parameter, and for those that belong to the values picked."""
    suggestion: dict[str, int | float] = {}
    for dimension in dimensions:
        if isinstance(dimension, Ranged):
            suggestion[dimension.name] = draw(dimension)
            continue
        position = choose(dimension)
        suggestion[dimension.name] = position
        suggestion |= suggest(dimension.branches[position].dimensions, choose, draw)
    return suggestion


def assign(dimensions: Dimensions, suggestion: Suggestion) -> dict[str, Any]:
    """Return the setting that a suggestion picks, by address."""
    params: dict[str, Any] = {}
    for dimension in dimensions:
        if isinstance(dimension, Ranged):
            params[dimension.address] = dimension.drawn.value(suggestion[dimension.name])
            continue
        branch = dimension.branches[int(suggestion[dimension.name])]
        if dimension.address is not None:
            params[dimension.address] = branch.value
        params |= assign(branch.dimensions, suggestion)
    return params


def combinations(dimensions: Dimensions) -> Iterator[dict[str, int | float]]:
    """Yield every suggestion; the last parameter varies fastest. All parameters have lists."""
    for parts in itertools.product(*(list(_alternatives(dimension)) for dimension in dimensions)):
        yield {name: picked for part in parts for name, picked in part.items()}


def _alternatives(dimension: Dimension) -> Iterator[dict[str, int | float]]:
    assert isinstance(dimension, Listed)
    for position, branch in enumerate(dimension.branches):
        for inner in combinations(branch.dimensions):
            yield {dimension.name: position, **inner}


def count_combinations(dimensions: Dimensions) -> float:
    """Return how many suggestions there are, without making them; infinity where values are drawn."""
    total = 1.0
    for dimension in dimensions:
        inner = [] if isinstance(dimension, Ranged) else dimension.branches
        total *= sum(count_combinations(branch.dimensions) for branch in inner) if inner else float("inf")
    return total


def describe_space(dimensions: Dimensions) -> list[Any]:
    """Return a space as plain values, which differ where a suggestion would mean something else."""
    return [
        [dimension.name, dimension.drawn.describe()]
        if isinstance(dimension, Ranged)
        else [
            dimension.name,
            [
                [text, describe_space(branch.dimensions)]
                for text, branch in zip(dimension.labels, dimension.branches, strict=True)
            ],
        ]
        for dimension in dimensions
    ]
