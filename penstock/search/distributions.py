"""Ranges of values to draw from: distributions of scipy.stats and of Optuna, neither of which is imported for it."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

Number: TypeAlias = int | float

_BEYOND = 1e-6
"""The quantile, and that from above, to which a distribution without ends is cut."""


class Drawn(Protocol):
    """A range of values with a probability for each.

    A value is suggested by a number: itself, or the quantile that it is of its distribution.
    """

    def draw(self, generator: np.random.Generator) -> Number:
        """Return what suggests a value, at random."""

    def value(self, suggested: Number) -> Number:
        """Return the value that is suggested."""

    def ends(self) -> tuple[Number, Number]:
        """Return what suggests the least and the greatest value; where there is none, one that few are beyond."""

    def describe(self) -> str:
        """Return a text that differs between distributions."""


@dataclass(frozen=True)
class ScipyDistribution:
    """A frozen distribution of scipy.stats, whose values are suggested by their quantiles."""

    frozen: Any

    def draw(self, generator: np.random.Generator) -> Number:
        return float(generator.uniform())

    def value(self, suggested: Number) -> Number:
        low, high = self.frozen.support()
        least = 0.0 if math.isfinite(low) else _BEYOND
        most = 1.0 if math.isfinite(high) else 1 - _BEYOND
        drawn = float(np.clip(self.frozen.ppf(np.clip(suggested, least, most)), low, high))
        return int(drawn) if hasattr(self.frozen, "pmf") else drawn

    def ends(self) -> tuple[Number, Number]:
        return 0.0, 1.0

    def describe(self) -> str:
        arguments = [*map(str, self.frozen.args), *(f"{name}={each}" for name, each in self.frozen.kwds.items())]
        return f"{self.frozen.dist.name}({', '.join(arguments)})"


@dataclass(frozen=True)
class OptunaDistribution:
    """Optuna's FloatDistribution or IntDistribution: uniform, or so in the logarithm, perhaps in steps."""

    distribution: Any

    def draw(self, generator: np.random.Generator) -> Number:
        low, high, step = self.distribution.low, self.distribution.high, self.distribution.step
        if self.distribution.log:
            return _draw_in_logarithm(generator, low, high)
        if step is None:
            return float(generator.uniform(low, high))
        steps = int(generator.integers(round((high - low) / step) + 1))
        return min(low + step * steps, high)

    def value(self, suggested: Number) -> Number:
        return suggested

    def ends(self) -> tuple[Number, Number]:
        return self.distribution.low, self.distribution.high

    def describe(self) -> str:
        return str(self.distribution)


def _draw_in_logarithm(generator: np.random.Generator, low: Number, high: Number) -> Number:
    """Return a number between two; of integers each stands for all that are rounded to it."""
    margin = 0.5 if isinstance(low, int) else 0.0
    drawn = math.exp(generator.uniform(math.log(low - margin), math.log(high + margin)))
    return min(max(round(drawn) if margin else drawn, low), high)


def as_drawn(value: Any) -> Drawn | None:
    """Return a distribution as one to draw from; None for what is none."""
    if hasattr(value, "rvs") and hasattr(value, "ppf") and hasattr(value, "dist"):
        return ScipyDistribution(value)
    kinds = _optuna_class("FloatDistribution"), _optuna_class("IntDistribution")
    return OptunaDistribution(value) if isinstance(value, kinds) else None


def as_values(value: Any) -> Any:
    """Return the values of Optuna's CategoricalDistribution, anything else as it is."""
    return value.choices if isinstance(value, _optuna_class("CategoricalDistribution")) else value


def plain(value: Any) -> Any:
    """Return a number of NumPy's as one of Python's, anything else as it is."""
    return (
        value.item() if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim) else value
    )


def _optuna_class(name: str) -> Any:
    """Return a class of Optuna's, or no class while nobody has imported Optuna and so no value can be of one."""
    return getattr(sys.modules.get("optuna.distributions"), name, ())
