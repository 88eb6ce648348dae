"""Sums over cells of equal width: a histogram that needs no range, has a bound, and does not depend on partitioning.

A cell is ``[i * 2**exponent, (i + 1) * 2**exponent)``. Cells of one exponent lie whole in those of the next, so that
tables of different exponents can be joined; and the smallest exponent at which the rows fill at most so many cells
belongs to the set of rows, in whatever parts it was seen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.frames import matrices
from penstock.statistics.base import State

_FINEST = -1000
_DIGITS = 53  # of float64: finer cells would not tell more numbers apart
_LARGEST = np.finfo(np.float64).max


@dataclass(frozen=True, eq=False)
class Cells:
    """Filled cells, ascending, and sums over the rows in each.

    Parameters
    ----------
    lower, upper : numpy.ndarray of shape (n_cells,)
        Edges; a value is at least the lower one and less than the upper one.
    sums : dict of str to numpy.ndarray of shape (n_cells,)

    Examples
    --------
    >>> cells = finish_cells(summarise_cells(np.array([0.5, 2.5, 2.75]), {"rows": np.ones(3)}, most=2))
    >>> cells.lower.tolist(), cells.upper.tolist(), cells.sums["rows"].tolist()
    ([0.5, 2.5], [1.0, 3.0], [1.0, 2.0])
    """

    lower: np.ndarray
    upper: np.ndarray
    sums: dict[str, np.ndarray]

    @property
    def width(self) -> float:
        """The width of every cell; 0 when there are none."""
        return float(self.upper[0] - self.lower[0]) if len(self.lower) else 0.0


def summarise_cells(values: Any, sums: Mapping[str, Any], most: int) -> State:
    """Return the state of one partition: its cells, as narrow as at most `most` filled ones allow.

    Parameters
    ----------
    values : array of shape (n_rows,)
        Finite float64: NumPy's, or CuPy's, of which only the cells are copied to the host.
    sums : mapping of str to array of shape (n_rows,)
        What to add up per cell; of NumPy's, in the order of the rows.
    most : int
        At least 2.
    """
    finest = _finest(values)
    cells = _cells(values, finest)
    ascending = np.sort(cells)
    steps = _steps(ascending, most)
    return {"exponent": finest + steps, "table": _table(cells >> steps, _distinct(ascending >> steps), sums)}


def merge_cells(states: Sequence[State], most: int) -> State:
    """Return the state of all partitions together; of one state alone, the same rows in at most `most` cells."""
    exponent = max(state["exponent"] for state in states)
    parts = [state["table"]["cell"].to_numpy() >> min(exponent - state["exponent"], 63) for state in states]
    cells = np.concatenate(parts)
    ascending = np.sort(cells)
    steps = _steps(ascending, most)
    rows = pa.concat_tables([state["table"] for state in states])
    sums = {name: rows[name].to_numpy() for name in rows.column_names if name != "cell"}
    return {"exponent": exponent + steps, "table": _table(cells >> steps, _distinct(ascending >> steps), sums)}


def finish_cells(state: State) -> Cells:
    """Return the filled cells in ascending order."""
    table = state["table"]
    cells = table["cell"].to_numpy().astype(np.float64)
    sums = {name: table[name].to_numpy() for name in table.column_names if name != "cell"}
    return Cells(_edges(cells, state["exponent"]), _edges(cells + 1, state["exponent"]), sums)


def _finest(values: Any) -> int:
    """Return the smallest exponent at which every cell has a number that float64 can tell from the next one's."""
    largest = max(float(values.max()), -float(values.min())) if len(values) else 0.0
    return max(_FINEST, math.frexp(largest)[1] - _DIGITS) if largest else _FINEST


def _cells(values: Any, exponent: int) -> Any:
    """Return the number of the cell of each value, int64."""
    cells = np.floor(np.ldexp(values, -exponent)).astype(np.int64)
    cells[(cells == 0) & (values < 0)] = -1  # so small beside the cell that scaling gave zero
    return cells


def _steps(ascending: Any, most: int) -> int:
    """Return by how many powers of two cells, each perhaps several times, are to widen to be at most `most`.

    Two cells become one after as many steps as their numbers differ in binary digits, counted from the highest that
    differs; those on either side of zero never do.
    """
    left, right = ascending[:-1], ascending[1:]
    apart = np.frexp((left ^ right).astype(np.float64))[1]
    apart[(left < 0) & (right >= 0)] = 64
    boundaries = len(apart) - np.cumsum(np.bincount(apart, minlength=65))  # that are left after so many steps
    return int(np.argmax(boundaries < most))


def _distinct(ascending: Any) -> Any:
    return ascending[np.diff(ascending, prepend=ascending[:1] - 1) != 0]


def _table(cells: Any, filled: Any, sums: Mapping[str, Any]) -> pa.Table:
    """Return the sums over the rows of each of the filled cells, on the host; rows that are there, added in order."""
    place = np.searchsorted(filled, cells)
    added = {name: np.bincount(place, each, len(filled)).astype(np.float64) for name, each in sums.items()}
    return pa.table({name: matrices.to_host(each) for name, each in {"cell": filled, **added}.items()})


def _edges(cells: np.ndarray, exponent: int) -> np.ndarray:
    with np.errstate(over="ignore"):
        edges: np.ndarray = np.clip(np.ldexp(cells, exponent), -_LARGEST, _LARGEST)
    return edges
