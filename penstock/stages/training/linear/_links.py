"""Links of generalised linear models, from means to linear predictors, and back."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.frames import matrices
from penstock.stages.onnx_graph import OnnxGraph, Tensor

Array = Any
"""A number for each row: float64, of NumPy or CuPy, as is what NumPy's functions make of them."""


class Link(ABC):
    """A monotone function from means to linear predictors; NaN where there is nothing to give."""

    @abstractmethod
    def __call__(self, mean: Array) -> Array:
        """Return the linear predictors of means."""

    @abstractmethod
    def inverse(self, predictor: Array) -> Array:
        """Return the means of linear predictors."""

    def nodes(self, graph: OnnxGraph, predictor: Tensor) -> Tensor | None:
        """Return the means of linear predictors in a graph in ONNX; None, as here, where it cannot express them."""
        return None

    @abstractmethod
    def derivative(self, mean: Array) -> Array:
        """Return the derivative of the link at means."""


@dataclass(frozen=True)
class Power(Link):
    """``mean ** power``, and the logarithm for power 0; but for whole powers, means of negative predictors are NaN.

    Examples
    --------
    >>> Power(0.5).inverse(np.array([3.0, -3.0]))
    array([ 9., nan])
    """

    power: float

    def __call__(self, mean: Array) -> Array:
        return np.log(mean) if self.power == 0 else np.power(mean, self.power)

    def inverse(self, predictor: Array) -> Array:
        if self.power == 0:
            return np.exp(predictor)
        if abs(self.power) == 1:
            return predictor**self.power
        return np.power(np.where(predictor >= 0, predictor, np.nan), 1 / self.power)

    def nodes(self, graph: OnnxGraph, predictor: Tensor) -> Tensor:
        if self.power in (0, 1):
            return predictor if self.power else graph.add("Exp", predictor)
        if self.power == -1:
            return graph.add("Reciprocal", predictor)
        least = graph.add("GreaterOrEqual", predictor, graph.constant(0.0), dtype="bool")
        means = graph.add("Pow", graph.add("Abs", predictor), graph.constant(1 / self.power))
        return graph.where(least, means, graph.constant(math.nan))

    def derivative(self, mean: Array) -> Array:
        return 1 / mean if self.power == 0 else self.power * np.power(mean, self.power - 1)


class Logit(Link):
    """The logarithm of the odds."""

    def __call__(self, mean: Array) -> Array:
        return np.log(mean / (1 - mean))

    def inverse(self, predictor: Array) -> Array:
        small = np.exp(-np.abs(predictor))
        return np.where(predictor >= 0, 1.0, small) / (1 + small)

    def nodes(self, graph: OnnxGraph, predictor: Tensor) -> Tensor:
        return graph.add("Sigmoid", predictor)

    def derivative(self, mean: Array) -> Array:
        return 1 / (mean * (1 - mean))


class Probit(Link):
    """The quantile function of the normal distribution."""

    def __call__(self, mean: Array) -> Array:
        return matrices.special("ndtri", mean)

    def inverse(self, predictor: Array) -> Array:
        return matrices.special("ndtr", predictor)

    def derivative(self, mean: Array) -> Array:
        return math.sqrt(2 * math.pi) * np.exp(self(mean) ** 2 / 2)


class CLogLog(Link):
    """The complementary log-log, ``log(-log(1 - mean))``."""

    def __call__(self, mean: Array) -> Array:
        return np.log(-np.log1p(-mean))

    def inverse(self, predictor: Array) -> Array:
        return -np.expm1(-np.exp(predictor))

    def nodes(self, graph: OnnxGraph, predictor: Tensor) -> Tensor:
        lacking = graph.add("Exp", graph.add("Neg", graph.add("Exp", predictor)))
        return graph.add("Sub", graph.constant(1.0), lacking)

    def derivative(self, mean: Array) -> Array:
        return 1 / ((mean - 1) * np.log1p(-mean))


LINKS: dict[str, Link] = {
    "identity": Power(1), "log": Power(0), "inverse": Power(-1), "sqrt": Power(0.5),
    "logit": Logit(), "probit": Probit(), "cloglog": CLogLog(),
}  # fmt: skip
