"""Weights and other sums over rows that share a number: at every distinct number, or in cells of equal width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError, ExecutionError
from penstock.frames import matrices
from penstock.statistics.base import State
from penstock.statistics.cells import finish_cells, merge_cells, summarise_cells
from penstock.statistics.evaluation.ties import add_ties, merge_ties

_VALUE, _WEIGHT, _MOMENT = "value", "weight", "weight times value"


@dataclass(frozen=True, eq=False)
class Tied:
    """What was added up at numbers, or in cells of them, ascending.

    Parameters
    ----------
    values, lower : numpy.ndarray of shape (n_values,), float64
        The numbers; of cells the mean of each, and its lower edge.
    beyond : float
        A number above those of all rows, where there are any.
    weight : numpy.ndarray of shape (n_values,), float64
    sums : dict of str to numpy.ndarray of shape (n_values,), float64
    """

    values: np.ndarray
    lower: np.ndarray
    beyond: float
    weight: np.ndarray
    sums: dict[str, np.ndarray]


@dataclass(frozen=True)
class TiedSums:
    """Adds up the weights of the rows that share a number, and what else is given; rows without weight take no part.

    Parameters
    ----------
    column : str
        The column of the numbers, for errors.
    num_bins : int, default 0
        0 for every distinct number; otherwise, at least 2, the most cells of equal width to put the numbers in. The
        cells do not depend on how rows are partitioned.
    limit_bytes : int, default 2**30
        The largest exact state.

    Raises
    ------
    ConfigError
        `num_bins` is 1 or negative, or `limit_bytes` is not positive.

    Examples
    --------
    >>> adding = TiedSums("x")
    >>> state = adding.summarise(np.array([3.0, 1.0, 3.0]), np.ones(3), {"y": np.array([1.0, 2.0, 5.0])})
    >>> tied = adding.finish(adding.merge([state, state]))
    >>> tied.values.tolist(), tied.weight.tolist(), tied.sums["y"].tolist()
    ([1.0, 3.0], [2.0, 4.0], [4.0, 12.0])
    """

    column: str
    num_bins: int = 0
    limit_bytes: int = 2**30

    def __post_init__(self) -> None:
        if self.num_bins < 0 or self.num_bins == 1:
            raise ConfigError(f"num_bins is {self.num_bins}, expected 0 for every distinct value, or at least 2")
        if self.limit_bytes < 1:
            raise ConfigError(f"limit_bytes is {self.limit_bytes}, expected at least 1")

    def summarise(self, values: Any, weight: Any, sums: Mapping[str, Any]) -> State:
        """Return the sums of one partition, on the host.

        Parameters
        ----------
        values, weight : array of shape (n_rows,), of NumPy or CuPy
            Finite float64, and weights of 0 or more; booleans and integers are counted as integers.
        sums : mapping of str to array of shape (n_rows,)
            What to add up besides, weighted already.

        Raises
        ------
        ExecutionError
            The state would be larger than `limit_bytes`.
        """
        weighed = weight > 0
        values, weight = values[weighed] + 0.0, weight[weighed]  # of minus zero it makes zero
        columns = {_WEIGHT: weight, **{name: each[weighed] for name, each in sums.items()}}
        if self.num_bins:
            return summarise_cells(values, {**columns, _MOMENT: weight * values}, self.num_bins)
        run = add_ties([values, *columns.values()])
        self._check_size(len(run[0]), sum(column.itemsize for column in run))
        return pa.table(dict(zip((_VALUE, *columns), map(matrices.to_host, run), strict=True)))

    def merge(self, states: Sequence[State]) -> State:
        """Add up the sums at equal numbers or in equal cells; raises as `summarise` does."""
        if self.num_bins:
            return merge_cells(states, self.num_bins)
        if len(states) == 1:
            return states[0]
        names = states[0].column_names
        runs = [tuple(state[name].to_numpy() for name in names) for state in states]
        return pa.table(dict(zip(names, merge_ties(runs, self._check_size), strict=True)))

    def finish(self, state: State) -> Tied:
        """Return the sums."""
        if not self.num_bins:
            columns = {name: state[name].to_numpy().astype(np.float64) for name in state.column_names}
            values = columns.pop(_VALUE)
            beyond = np.nextafter(values[-1], np.inf) if len(values) else np.inf
            return Tied(values, values, float(beyond), columns.pop(_WEIGHT), columns)
        cells = finish_cells(state)
        sums = dict(cells.sums)
        weight = sums.pop(_WEIGHT)
        means = np.clip(sums.pop(_MOMENT) / weight, cells.lower, cells.upper)
        return Tied(means, cells.lower, float(cells.upper.max(initial=-np.inf)), weight, sums)

    def _check_size(self, distinct: int, each: int) -> None:
        if distinct * each > self.limit_bytes:
            raise ExecutionError(
                f"column {self.column!r} has {distinct:,} or more distinct values; at {each} bytes each that is"
                f" {distinct * each:,} bytes, expected at most limit_bytes={self.limit_bytes:,}",
                hint="Set num_bins, 10000 say: values that are near each other are then taken together.",
                column=self.column,
            )
