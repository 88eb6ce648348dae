"""Minimising a convex objective by its gradient: L-BFGS, and OWL-QN where there is an L1 penalty.

The two-loop recursion is that of Nocedal and Wright, "Numerical Optimization", 2nd edition, algorithm 7.4. With an L1
penalty, steps stay within one orthant, as in Andrew and Gao, "Scalable training of L1-regularized log-linear models",
ICML 2007; without one, OWL-QN is L-BFGS. A step is taken when it decreases the objective enough (Armijo), or where the
objective is flat to rounding, when the slope says so (the approximate Wolfe condition of Hager and Zhang, "A new
conjugate gradient method with guaranteed descent and an efficient line search", SIAM J. Optim. 16, 2005).

Every rank walks the same path: it is decided by nothing but the values of the objective, which are equal on all, and
by operations that IEEE 754 defines to the bit, in an order that only the number of parameters decides.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

import numpy as np

from penstock.spmd import Rank
from penstock.stages.training.linear._separation import collapsed, moving

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
"""Gives the smooth part of the objective, and its gradient, at a vector of float64."""
Inverse = Callable[[np.ndarray], np.ndarray]
End = TypeVar("End")
Descent = Generator[np.ndarray, tuple[float, np.ndarray], End]
"""Yields vectors at which the objective is asked for."""

_MEMORY = 10
COURSE = 2 * _MEMORY + 1
"""How many vectors of the length of all parameters a course has, at most."""
_HALVINGS = 40
_SUFFICIENT = 1e-4
_FLAT = 1e-12
_CURVED = 1e-14


@dataclass
class Course:
    """Where a minimisation is, all that decides how it goes on, and the objective at the start and after each step.

    Examples
    --------
    >>> course = Course(np.array([0.5, 2.0]), history=[1.5])
    >>> Course.unpack(course.pack()) == course
    True
    """

    x: np.ndarray
    steps: list[np.ndarray] = field(default_factory=list)
    changes: list[np.ndarray] = field(default_factory=list)
    history: list[float] = field(default_factory=list)
    converged: bool = False
    gradient: np.ndarray | None = None
    unbounded: np.ndarray | None = None
    """Which parameters grow without bound; see `look_beyond`."""

    @classmethod
    def of(cls, rank: Rank, start: np.ndarray) -> Self:
        """Return the course of the checkpoint that a rank goes on from; without one, that from `start`."""
        return cls.unpack(rank.checkpoint.data) if rank.checkpoint else cls(start)

    def report(self, rank: Rank) -> None:
        """Tell of a step, and save a checkpoint where one is due."""
        rank.report(self.iterations, f"objective {self.history[-1]:.8g}")
        if self.iterations % rank.checkpoint_interval == 0:
            rank.save(self.iterations, self.pack())

    def report_end(self, rank: Rank, why: str = "not converged") -> None:
        """Tell why it has not converged, if it has not."""
        if not self.converged:
            rank.report(self.iterations, f"objective {self.history[-1]:.8g}, {why}")

    @property
    def iterations(self) -> int:
        """How many steps were taken."""
        return max(len(self.history) - 1, 0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Course) and self.pack() == other.pack()

    __hash__ = None  # type: ignore[assignment]

    def pack(self) -> bytes:
        """Return a checkpoint: a line of JSON, then the vectors as little-endian float64."""
        vectors = np.concatenate([self.x, *self.steps, *self.changes]).astype("<f8")
        return json.dumps({"pairs": len(self.steps), "history": self.history}).encode() + b"\n" + vectors.tobytes()

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        """Return the course of a checkpoint."""
        head, _, body = data.partition(b"\n")
        told = json.loads(head)
        pairs = told["pairs"]
        x, *rest = np.frombuffer(body, dtype="<f8").astype(np.float64).reshape(1 + 2 * pairs, -1)
        return cls(x, rest[:pairs], rest[pairs:], told["history"])


@dataclass(frozen=True)
class _Point:
    """A vector, the whole objective there, the gradient of its smooth part, and that of the whole (steepest)."""

    x: np.ndarray
    value: float
    gradient: np.ndarray
    pseudo: np.ndarray


def minimise(objective: Objective, course: Course, **options: Any) -> Course:
    """Return the course at its end; the one given is changed. Options are those of `descend`."""
    descent = descend(course, **options)
    try:
        x = next(descent)
        while True:
            x = descent.send(objective(x))
    except StopIteration as end:
        return end.value


def descend(
    course: Course,
    *,
    l1: np.ndarray,
    tol: float,
    max_iter: int,
    floor: float = 0.0,
    measure: float | None = None,
    inverse: Inverse | None = None,
    after: Callable[[Course], None] = lambda course: None,
) -> Descent[Course]:
    """Yield where the objective is to be evaluated, and take what it is there; return the course at its end.

    Parameters
    ----------
    course : Course
        Where to start, or to go on: that of a checkpoint goes on as if it had never stopped.
    l1 : numpy.ndarray
        Weight of the absolute value of each parameter; 0 for none.
    tol : float
        Converged is where no component of the (pseudo-)gradient is larger than `tol` times the objective, or times
        `measure` where it is given.
    max_iter : int
        The largest number of steps.
    floor : float
        Stop, not converged, where the objective is not above this: there is no minimum but at infinity.
    measure : float, optional
        What `tol` is a share of, of an objective that may be 0 at its minimum.
    inverse : callable, optional
        Multiplies a vector by about the inverse of the Hessian at the start: a symmetric, positive definite matrix. It
        takes the place of the multiple of the identity that L-BFGS begins with. Not with an L1 penalty.
    after : callable
        Called after each step.
    """
    point = yield from _evaluate(course.x, l1)
    course.history = course.history or [point.value]
    while True:
        limit = tol * (point.value if measure is None else measure)
        course.converged = point.value > floor and _largest(point.pseudo) <= limit
        course.gradient = point.gradient
        if course.converged or point.value <= floor or course.iterations >= max_iter:
            return course
        reached = yield from _step(point, course, l1, inverse)
        if reached is None:
            return course
        _remember(course, reached.x - point.x, reached.gradient - point.gradient)
        point, course.x = reached, reached.x
        course.history.append(point.value)
        after(course)


def look_beyond(course: Course, inverse: Inverse | None, null: np.ndarray) -> Descent[Course]:
    """Ask whether parameters grow without bound where a course has ended, which has not converged then; no L1 penalty.

    Parameters
    ----------
    null : numpy.ndarray
        Those of a model that has learned nothing.
    """
    assert course.gradient is not None
    end, none = _Point(course.x, course.history[-1], course.gradient, course.gradient), np.zeros(len(course.x))
    step = _direction(end, course, none, inverse)
    moves = moving(course.x, step)
    if moves.any():
        beyond = yield from _evaluate(course.x + step, none)
        first = yield from _evaluate(null, none)
        second = yield from _evaluate(null + step, none)
        left, whole = (_dot(b.gradient - a.gradient, step) for a, b in ((end, beyond), (first, second)))
        course.unbounded = moves if collapsed(left, whole) else None
        course.converged = course.converged and course.unbounded is None
    return course


def _evaluate(x: np.ndarray, l1: np.ndarray) -> Descent[_Point]:
    smooth, gradient = yield x
    return _Point(x, smooth + _dot(l1, np.abs(x)), gradient, _pseudo_gradient(x, gradient, l1))


def _pseudo_gradient(x: np.ndarray, gradient: np.ndarray, l1: np.ndarray) -> np.ndarray:
    """Return the element of the subdifferential that is nearest to 0."""
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - l1, 0.0)
    return np.where(x == 0.0, at_zero, gradient + l1 * np.sign(x))


def _step(point: _Point, course: Course, l1: np.ndarray, inverse: Inverse | None) -> Descent[_Point | None]:
    """Return where the next step leads; None when rounding leaves no way down."""
    while True:
        direction = _direction(point, course, l1, inverse)
        known = inverse is not None or course.steps
        size = 1.0 if known else min(1.0, 1.0 / np.sqrt(_dot(direction, direction)))
        reached = yield from _search(point, direction, size, l1)
        if reached is not None or not course.steps:
            return reached
        course.steps, course.changes = [], []  # what was remembered misleads: try the steepest descent once


def _direction(point: _Point, course: Course, l1: np.ndarray, inverse: Inverse | None) -> np.ndarray:
    """Return minus the inverse Hessian, as far as it is known, times the gradient."""
    direction = -point.pseudo
    pairs = [(s, y, _dot(s, y)) for s, y in zip(course.steps, course.changes, strict=True)]
    shares = []
    for s, y, curvature in reversed(pairs):
        shares.append(_dot(s, direction) / curvature)
        direction = direction - shares[-1] * y
    direction = direction if inverse is None else inverse(direction)
    if pairs:
        _, y, curvature = pairs[-1]
        direction = direction * (curvature / _dot(y, y if inverse is None else inverse(y)))
    for (s, y, curvature), share in zip(pairs, reversed(shares), strict=True):
        direction = direction + (share - _dot(y, direction) / curvature) * s
    return np.where((l1 > 0) & (direction * point.pseudo >= 0), 0.0, direction)


def _search(point: _Point, direction: np.ndarray, size: float, l1: np.ndarray) -> Descent[_Point | None]:
    """Return the first point, halving the step each time, that is good enough."""
    orthant = np.where(point.x == 0.0, -np.sign(point.pseudo), np.sign(point.x))
    for _ in range(_HALVINGS):
        x = point.x + size * direction
        x = np.where((l1 > 0) & (x * orthant < 0), 0.0, x)
        move = x - point.x
        slope = _dot(point.pseudo, move)
        if not slope < 0:
            return None
        reached = yield from _evaluate(x, l1)
        if reached.value <= point.value + _SUFFICIENT * slope:
            return reached
        after = _dot(reached.gradient + l1 * orthant, move)
        if reached.value <= point.value + _FLAT * abs(point.value) and after <= (2 * _SUFFICIENT - 1) * slope:
            return reached
        size /= 2
    return None


def _remember(course: Course, step: np.ndarray, change: np.ndarray) -> None:
    """Keep a pair that shows curvature, and forget the oldest of too many."""
    if _dot(step, change) > _CURVED * _dot(change, change):
        course.steps = [*course.steps, step][-_MEMORY:]
        course.changes = [*course.changes, change][-_MEMORY:]


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    """Return the product summed by NumPy, in an order that only the length decides; BLAS decides by the processor."""
    return float((a * b).sum())


def _largest(values: np.ndarray) -> float:
    return float(np.max(np.abs(values), initial=0.0))
