"""Log loss, of two classes and of more: the objective of logistic regression over the rows of all ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.stages.training.exact.products import Loss, ProductDesign
from penstock.stages.training.linear._sparse_design import SparseDesign


@dataclass(frozen=True)
class Objective:
    """The mean log loss with the L2 penalty, over the rows of all ranks, which are standardised, and its gradient."""

    design: ProductDesign | SparseDesign
    weight: float
    loss: Loss
    l2: np.ndarray

    def __call__(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Evaluate; every rank calls it with the same parameters."""
        coefficients = parameters.reshape(-1, len(self.design.bounds))
        reach = float((np.abs(coefficients) * self.design.bounds).sum(axis=1).max())
        most = 2 * reach + math.log(len(coefficients) + 1)  # no log loss is larger
        loss, gradient = self.design.loss_and_gradient(coefficients, self.loss, largest_loss=most)
        penalty = float((self.l2 * parameters**2).sum()) / 2
        return loss / self.weight + penalty, gradient / self.weight + self.l2 * parameters


def binomial(margins: Any, label: Any) -> tuple[Any, Any]:
    """Return the log loss of each row and its derivative by the margin; exact to rounding also where it is tiny."""
    sign = 2.0 * label - 1.0
    towards = sign * margins[0]
    small = np.exp(-np.abs(towards))
    losses = np.log1p(small) + np.maximum(-towards, 0.0)
    return losses, (-sign * np.where(towards >= 0, small, 1.0) / (1.0 + small))[None]


def multinomial(margins: Any, label: Any) -> tuple[Any, Any]:
    """Return the log loss of each row and its derivatives by the margins."""
    losses, residuals = 0.0 * label, softmax(margins)
    largest = margins.max(axis=0)
    powers = _across(np.exp(margins - largest))
    for place, margin in enumerate(margins):
        mine = label == place
        losses += mine * (largest - margin + np.log(powers))
        residuals[place] -= mine
    return losses, residuals


def sigmoid(margins: Any) -> Any:
    """Return the logistic function, without overflow.

    Examples
    --------
    >>> sigmoid(np.array([0.0, -1000.0]))
    array([0.5, 0. ])
    """
    small = np.exp(-np.abs(margins))
    return np.where(margins >= 0, 1.0, small) / (1.0 + small)


def softmax(margins: Any) -> Any:
    """Return the probabilities of classes, of shape (classes, rows) as the margins.

    Examples
    --------
    >>> softmax(np.array([[0.0], [0.0], [-1000.0]]))
    array([[0.5],
           [0.5],
           [0. ]])
    """
    powers = np.exp(margins - margins.max(axis=0))
    return powers / _across(powers)


def _across(values: Any) -> Any:
    """Return the sum over classes, one after the other: NumPy's own changes its order where there is a single row."""
    total = values[0].copy()
    for row in values[1:]:
        total += row
    return total
