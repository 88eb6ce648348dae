"""Log loss, of two classes and of more: the objective of logistic regression over the rows of all ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.frames import matrices
from penstock.stages.training.exact.products import Loss, LossAt, ProductDesign
from penstock.stages.training.linear._quasi_newton import Course, Descent
from penstock.stages.training.linear._sparse_design import SparseDesign


@dataclass(frozen=True)
class Objective:
    """The mean log loss with the L2 penalty, over the rows of all ranks, which are standardised, and its gradient."""

    design: ProductDesign | SparseDesign
    weight: float
    loss: Loss
    l2: np.ndarray

    def at(self, parameters: np.ndarray) -> LossAt:
        """Return what is to be added up over the rows."""
        coefficients = parameters.reshape(-1, len(self.design.bounds))
        reach = float((np.abs(coefficients) * self.design.bounds).sum(axis=1).max())
        most = 2 * reach + math.log(len(coefficients) + 1)  # no log loss is larger
        return LossAt(coefficients, self.loss, most)

    def penalised(self, parameters: np.ndarray, loss: float, gradient: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient, from their sums over the rows."""
        penalty = float((self.l2 * parameters**2).sum()) / 2
        return loss / self.weight + penalty, gradient / self.weight + self.l2 * parameters


def minimise_together(problems: Sequence[tuple[Objective, Descent[Course]]]) -> list[Course]:
    """Return where descents on their objectives end; every rank calls it.

    All take their steps side by side, and the objectives on one design are evaluated in one pass over its rows. Each
    takes the steps that it would take by itself, to the bit.
    """
    ended: dict[int, Course] = {}
    answers: dict[int, Any] = dict.fromkeys(range(len(problems)))
    while answers:
        asked: dict[int, np.ndarray] = {}
        for place, answer in answers.items():
            try:
                asked[place] = problems[place][1].send(answer)
            except StopIteration as end:
                ended[place] = end.value
        answers = _evaluated({place: (problems[place][0], x) for place, x in asked.items()})
    return [ended[place] for place in range(len(problems))]


def _evaluated(asked: Mapping[int, tuple[Objective, np.ndarray]]) -> dict[int, tuple[float, np.ndarray]]:
    """Return the values of objectives and their gradients, by place."""
    by_design: dict[Any, list[int]] = {}
    for place, (objective, _) in asked.items():
        by_design.setdefault(objective.design.key, []).append(place)
    values: dict[int, tuple[float, np.ndarray]] = {}
    for places in by_design.values():
        design = asked[places[0]][0].design
        sums = design.losses_and_gradients([objective.at(x) for objective, x in map(asked.__getitem__, places)])
        for place, of_rows in zip(places, sums, strict=True):
            objective, x = asked[place]
            values[place] = objective.penalised(x, *of_rows)
    return values


@matrices.fused
def binomial(xp: Any, margins: Any, label: Any) -> tuple[Any, Any]:
    """Return the log loss of each row and its derivative by the margin; exact to rounding also where it is tiny."""
    sign = 2.0 * label - 1.0
    towards = sign * margins
    small = xp.exp(-xp.abs(towards))
    losses = xp.log1p(small) + xp.maximum(-towards, 0.0)
    return losses, -sign * xp.where(towards >= 0, small, 1.0) / (1.0 + small)


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
