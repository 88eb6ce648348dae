"""Products of squares of columns: what is needed beside covariances to know how far these may be off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.frames import Kind, matrices
from penstock.statistics.base import State
from penstock.statistics.gram import CrossProducts, Gram, slabs, unpack, upper_products
from penstock.statistics.rules import Rule

_LARGEST = 1e75
"""Fourth powers of larger numbers overflow float64."""


@dataclass(frozen=True, eq=False)
class FourthProducts(CrossProducts):
    """Cross products, and the products of squares.

    Parameters
    ----------
    squares : numpy.ndarray of shape (n_columns, n_columns)
        Weighted sums of the products of two columns' squared distances from their means.
    """

    squares: np.ndarray


@dataclass(frozen=True)
class FourthMoments(Gram):
    """The :class:`FourthProducts` of columns, which a `Gram` computes without the squares.

    Where the origin moves by s, as partitions are joined, sums of ``(x_i - s_i)**2 * (x_j - s_j)**2`` are expanded to
    those that are known, about means: of data far from zero nothing cancels.

    Examples
    --------
    >>> from penstock import frames
    >>> moments = FourthMoments(("x",))
    >>> parts = [frames.from_arrow(pa.table({"x": values})) for values in ([1.0, 3.0], [5.0])]
    >>> moments.finish(moments.merge([moments.summarise(part) for part in parts])).squares.tolist()
    [[32.0]]
    """

    def _state_of(self, values: Any, weight: Any | None, extremes: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
        state = super()._state_of(values, weight, extremes)
        cubes, squares = (np.zeros((len(values), len(values))) for _ in range(2))
        kind: Kind = "cpu" if isinstance(values, np.ndarray) else "gpu"
        mean, rest = (matrices.to_device(each, kind)[:, None] for each in _centre(state))
        with np.errstate(over="ignore", invalid="ignore"):  # refused at the end, by name
            for part in slabs(values) if state["count"] else ():
                near = values[:, part] - mean - rest
                square = near * near
                weighted = [each if weight is None else each * weight[part] for each in (near, square)]
                lower = np.triu(upper_products(weighted[0], square), 1).T
                cubes += np.triu(upper_products(weighted[1], near)) + lower
                squares += upper_products(weighted[1], square)
        return {**state, "fourth": _table(cubes, squares)}

    def merge(self, states: Sequence[State]) -> State:
        """Join as a `Gram` does, and move the sums of cubes and of squares to the mean of all rows."""
        joined = super().merge(states)
        mean, rest = _centre(joined)
        cubes, squares = (np.zeros((len(mean), len(mean))) for _ in range(2))
        with np.errstate(over="ignore", invalid="ignore"):
            for state in states:
                own = _centre(state)
                moved = _moved(state, (mean - own[0]) + (rest - own[1]))
                cubes, squares = cubes + moved[0], squares + moved[1]
        return {**joined, "fourth": _table(cubes, squares)}

    def finish(self, state: State) -> FourthProducts:
        """Return means, products, and products of squares.

        Raises
        ------
        DataValueError
            As of a `Gram`, or fourth powers overflow.
        """
        found = super().finish(state)
        _, squares = _sums(state)
        for name, sums in zip(self.numbers, squares, strict=True):
            if not np.isfinite(sums).all():
                raise _too_large(name)
        squares[found.constant, :] = squares[:, found.constant] = 0.0
        return FourthProducts(**vars(found), squares=squares)


def _moved(state: State, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of ``x_i**2 * x_j`` and of ``x_i**2 * x_j**2`` about an origin that is `shift` from the mean."""
    if not state["count"]:
        return np.zeros((len(shift), len(shift))), np.zeros((len(shift), len(shift)))
    cubes, squares = _sums(state)
    cross, weight = unpack(state["cross"]["upper"].to_numpy(), len(shift)), state["weight"]
    spread, away = np.diag(cross), shift * shift
    moved = cubes - np.outer(spread, shift) - 2 * shift[:, None] * cross - weight * np.outer(away, shift)
    twice = 2 * shift * cubes
    squared = squares - twice - twice.T + 4 * np.outer(shift, shift) * cross
    return moved, squared + np.outer(away, spread) + np.outer(spread, away) + weight * np.outer(away, away)


def _centre(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean, and what float64 rounds off it."""
    return state["columns"]["mean"].to_numpy(), state["columns"]["rest"].to_numpy()


def _table(cubes: np.ndarray, squares: np.ndarray) -> pa.Table:
    return pa.table({"cubes": cubes.ravel(), "squares": (np.triu(squares) + np.triu(squares, 1).T).ravel()})


def _sums(state: State) -> tuple[np.ndarray, np.ndarray]:
    width = state["columns"].num_rows
    cubes, squares = (state["fourth"][name].to_numpy().reshape(width, width) for name in ("cubes", "squares"))
    return cubes, squares.copy()


def _too_large(name: str) -> DataValueError:
    return DataValueError(
        f"column {name!r} has values so large that their fourth powers overflow float64",
        hint="Rescale the column, or take another shrinkage.",
        column=name,
        predicate=Rule("not_between", (-_LARGEST, _LARGEST)).broken(name),
    )
