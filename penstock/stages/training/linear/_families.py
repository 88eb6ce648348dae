"""Families of distributions of generalised linear models: McCullagh and Nelder, 2nd edition, 1989, chapter 2."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.core.errors import DataValueError
from penstock.frames import matrices
from penstock.stages.training.linear._links import Array
from penstock.statistics import Extreme
from penstock.statistics.rules import Rule

_TINY = 1e-16
"""MLlib's smallest mean, and what it keeps a probability away from 1."""
_HUGE = float(np.finfo(np.float64).max)
_START = 0.1
_SMALLEST = 1e-37
"""What counts as positive in a label, float32 or float64."""


class Family(ABC):
    """A distribution of labels about their mean.

    Attributes
    ----------
    domain : Rule or None
        What a label that the family cannot have breaks.
    expected : str
        What it can have, in words.
    edges : tuple of float
        Labels that no finite predictor has for its mean.
    has_dispersion : bool
        Whether the log-likelihood has a parameter besides the mean.
    """

    domain: ClassVar[Rule | None] = None
    expected: ClassVar[str] = "numbers"
    edges: ClassVar[tuple[float, ...]] = ()
    has_dispersion: ClassVar[bool] = False

    def outside(self, name: str, label: str, count: int) -> DataValueError:
        """Return the error for `count` labels that the family, which is called `name`, cannot have."""
        assert self.domain is not None
        return DataValueError(
            f"label {label!r} has {count} value(s) that the {name} family cannot have, expected {self.expected}",
            hint="Choose another family, or filter these rows.",
            predicate=self.domain.broken(label),
            column=label,
        )

    def require_variation(self, name: str, label: str, found: Extreme) -> None:
        """Raise DataValueError where all labels are one at the edge of the domain."""
        if found.min == found.max and float(found.min) in self.edges:
            raise DataValueError(
                f"label {label!r} is {found.min} in every row, for which the {name} family has no finite coefficients",
                hint="Train on rows whose labels differ.",
                column=label,
            )

    @abstractmethod
    def variance(self, mean: Array) -> Array:
        """Return the variances that belong to means, per unit of dispersion."""

    @abstractmethod
    def deviance(self, label: Array, mean: Array) -> Array:
        """Return twice what the log-likelihood of each row lacks to that of a perfect fit, per unit of dispersion."""

    def start(self, label: Array, weight: Array) -> Array:
        """Return means to begin with: near the labels, and such as a model can have."""
        return label

    def trimmed(self, mean: Array) -> Array:
        """Return means moved to where means can be, as MLlib moves them; NaN stays."""
        return np.clip(mean, _TINY, _HUGE)

    def possible(self, mean: Array) -> Array:
        """Return means for training, NaN where there can be none."""
        return np.where((mean > 0) & (mean <= _HUGE), mean, np.nan)

    def likely_dispersion(self, deviance: float, rows: int, weight: float) -> float:
        """Return the dispersion that the likelihood is told with: MLlib's and R's estimate, or 1 if it has none."""
        return 1.0

    def log_likelihood(self, label: Array, mean: Array, weight: Array, dispersion: float) -> Array:
        """Return the log-likelihood of each row; NaN where there is no closed form."""
        return np.full_like(mean, np.nan)


class Gaussian(Family):
    """The normal distribution."""

    has_dispersion = True

    def variance(self, mean: Array) -> Array:
        return np.ones_like(mean)

    def deviance(self, label: Array, mean: Array) -> Array:
        return (label - mean) ** 2

    def trimmed(self, mean: Array) -> Array:
        return np.clip(mean, -_HUGE, _HUGE)

    def possible(self, mean: Array) -> Array:
        return np.where(np.abs(mean) <= _HUGE, mean, np.nan)

    def likely_dispersion(self, deviance: float, rows: int, weight: float) -> float:
        return deviance / rows

    def log_likelihood(self, label: Array, mean: Array, weight: Array, dispersion: float) -> Array:
        return -(np.log(2 * np.pi * dispersion / weight) + weight * (label - mean) ** 2 / dispersion) / 2


class Binomial(Family):
    """Shares of successes; the weights are numbers of trials."""

    domain = Rule("not_between", (0.0, 1.0))
    expected = "values between 0 and 1"
    edges = (0.0, 1.0)

    def variance(self, mean: Array) -> Array:
        return mean * (1 - mean)

    def deviance(self, label: Array, mean: Array) -> Array:
        return 2 * (_y_log_y(label, mean) + _y_log_y(1 - label, 1 - mean))

    def start(self, label: Array, weight: Array) -> Array:
        return (weight * label + 0.5) / (weight + 1)

    def trimmed(self, mean: Array) -> Array:
        return np.clip(mean, _TINY, 1 - _TINY)

    def possible(self, mean: Array) -> Array:
        return self.trimmed(mean)

    def log_likelihood(self, label: Array, mean: Array, weight: Array, dispersion: float) -> Array:
        trials, hits = np.floor(weight + 0.5), np.floor(label * weight + 0.5)
        ways = _gammaln(trials + 1) - _gammaln(hits + 1) - _gammaln(trials - hits + 1)
        return ways + hits * np.log(mean) + (trials - hits) * np.log1p(-mean)


class Poisson(Family):
    """Counts; the likelihood is that of labels rounded down, as in MLlib."""

    domain = Rule("negative")
    expected = "values of 0 or more"
    edges = (0.0,)

    def variance(self, mean: Array) -> Array:
        return mean

    def deviance(self, label: Array, mean: Array) -> Array:
        return 2 * (_y_log_y(label, mean) - (label - mean))

    def start(self, label: Array, weight: Array) -> Array:
        return np.maximum(label, _START)

    def log_likelihood(self, label: Array, mean: Array, weight: Array, dispersion: float) -> Array:
        count = np.floor(label)
        return weight * (count * np.log(mean) - mean - _gammaln(count + 1))


class Gamma(Family):
    """Positive quantities with a constant coefficient of variation."""

    domain = Rule("not_between", (_SMALLEST, _HUGE))
    expected = "values above 0 (1e-37 or more)"
    has_dispersion = True

    def variance(self, mean: Array) -> Array:
        return mean * mean

    def deviance(self, label: Array, mean: Array) -> Array:
        return 2 * ((label - mean) / mean - np.log(label / mean))

    def likely_dispersion(self, deviance: float, rows: int, weight: float) -> float:
        return deviance / weight

    def log_likelihood(self, label: Array, mean: Array, weight: Array, dispersion: float) -> Array:
        shape = 1 / dispersion
        scaled = shape * label / mean
        return weight * (shape * np.log(scaled) - scaled - math.lgamma(shape) - np.log(label))


@dataclass(frozen=True)
class Tweedie(Family):
    """A variance of ``mean ** power``; between 1 and 2, sums of gamma distributed quantities, often none."""

    power: float

    edges: ClassVar[tuple[float, ...]] = (0.0,)

    @property
    def domain(self) -> Rule:  # type: ignore[override]
        """0 has a chance below power 2."""
        return Rule("negative") if self.power < 2 else Gamma.domain

    @property
    def expected(self) -> str:  # type: ignore[override]
        """What belongs to the domain."""
        return Poisson.expected if self.power < 2 else Gamma.expected

    def variance(self, mean: Array) -> Array:
        return np.power(mean, self.power)

    def deviance(self, label: Array, mean: Array) -> Array:
        one, two = 1 - self.power, 2 - self.power
        return 2 * (np.power(label, two) / (one * two) - label * np.power(mean, one) / one + np.power(mean, two) / two)

    def start(self, label: Array, weight: Array) -> Array:
        return np.where(label == 0, _START, label)


def _gammaln(values: Array) -> Array:
    return matrices.special("gammaln", values)


def _y_log_y(label: Array, mean: Array) -> Array:
    """Return ``label * log(label / mean)``, 0 for 0."""
    return label * np.log(np.where(label > 0, label, mean) / mean)


FAMILIES: dict[str, Family] = {
    "gaussian": Gaussian(), "binomial": Binomial(), "poisson": Poisson(), "gamma": Gamma(),
}  # fmt: skip
SUPPORTED = {
    "gaussian": ("identity", "log", "inverse"),
    "binomial": ("logit", "probit", "cloglog"),
    "poisson": ("log", "identity", "sqrt"),
    "gamma": ("inverse", "identity", "log"),
}
"""The links of each family, as in MLlib; the first is the default."""


def tweedie(variance_power: float) -> Family:
    """Return the family of a variance power; 0, 1 and 2 are the normal, Poisson and gamma distribution.

    Examples
    --------
    >>> type(tweedie(1.0)).__name__, tweedie(1.5)
    ('Poisson', Tweedie(power=1.5))
    """
    named = {0.0: "gaussian", 1.0: "poisson", 2.0: "gamma"}.get(variance_power)
    return FAMILIES[named] if named else Tweedie(variance_power)
