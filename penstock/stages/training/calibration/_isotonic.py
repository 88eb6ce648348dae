"""The monotone function of least squares through points, and its values between and beyond them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
from scipy.optimize import isotonic_regression

from penstock.frames import Kind, matrices
from penstock.stages.shapes import TableOf

STEPS = TableOf(
    {"boundary": pa.types.is_floating, "prediction": pa.types.is_floating},
    least=1,
    unique=("boundary",),
    ascending=("boundary",),
)
"""What is stored of a monotone function."""


@dataclass(frozen=True, eq=False)
class Isotonic:
    """A function that is linear between boundaries, and constant before the first and after the last.

    Parameters
    ----------
    boundaries, predictions : numpy.ndarray of shape (n_boundaries,), float64
        Ascending, and the values there.

    Examples
    --------
    >>> step = Isotonic(np.array([0.0, 1.0, 3.0]), np.array([1.0, 1.0, 2.0]))
    >>> step.values(np.array([-5.0, 0.5, 2.0, 9.0])).tolist()
    [1.0, 1.0, 1.5, 2.0]
    """

    boundaries: np.ndarray
    predictions: np.ndarray

    @classmethod
    def fitted(cls, values: np.ndarray, means: np.ndarray, weights: np.ndarray, *, increasing: bool = True) -> Self:
        """Return the monotone function with the least weighted squares of distances from `means`.

        It is found by pooling adjacent violators; of what is constant only the two ends are boundaries, as in MLlib.

        Parameters
        ----------
        values : numpy.ndarray of shape (n_values,)
            Distinct and ascending, one at least.
        means, weights : numpy.ndarray of shape (n_values,)
            Weights are above 0.
        """
        found = isotonic_regression(means, weights=weights, increasing=increasing).x
        changes = np.diff(found) != 0
        ends = np.append(True, changes) | np.append(changes, True)
        return cls(values[ends], found[ends])

    @classmethod
    def stored(cls, table: pa.Table) -> Self:
        """Return the function of which `table` is."""
        return cls(table["boundary"].to_numpy(), table["prediction"].to_numpy())

    def table(self) -> pa.Table:
        """Return the boundaries and predictions, to be stored."""
        return pa.table({"boundary": self.boundaries, "prediction": self.predictions})

    def values(self, at: Any, kind: Kind = "cpu") -> Any:
        """Return the values at the numbers of an array on a device; NaN for NaN.

        Infinities get what the last boundary on their side has.
        """
        boundaries, predictions, widths, rises = (matrices.to_device(each, kind) for each in self._pieces)
        at = np.clip(at, boundaries[0], boundaries[-1])
        place = np.clip(np.searchsorted(boundaries, at, side="right") - 1, 0, len(boundaries) - 1)
        values = predictions[place] + (at - boundaries[place]) / widths[place] * rises[place]
        return np.clip(values, predictions.min(), predictions.max())  # a rise may be rounded up

    @cached_property
    def _pieces(self) -> tuple[np.ndarray, ...]:
        widths, rises = np.append(np.diff(self.boundaries), 1.0), np.append(np.diff(self.predictions), 0.0)
        return self.boundaries, self.predictions, widths, rises
