"""Quantiles of columns of any size, from a small summary with a proven error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.frames import matrices
from penstock.io.row_hashes import hash_rows
from penstock.statistics.aggregates import to_array
from penstock.statistics.base import ColumnStatistic, State

EXACT = 2**16
"""Up to so many values every one is kept, and quantiles are exact."""

Levels = Mapping[int, Any]
"""Sorted values by level, NumPy's or CuPy's; a value of level h stands for 2**h of them."""


@dataclass(frozen=True, eq=False)
class Distribution:
    """What is known of how the values of a column are distributed.

    Parameters
    ----------
    values : numpy.ndarray of shape (n_kept,)
        The values kept, float64, ascending.
    weights : numpy.ndarray of shape (n_kept,)
        For how many values each stands, int64.
    error : int
        No rank that is read off is wrong by more than this; 0 when every value was kept.

    Examples
    --------
    >>> distribution = Distribution(np.array([1.0, 2.0, 5.0]), np.array([1, 1, 1]), error=0)
    >>> distribution.median, distribution.quantile(1.0), distribution.count
    (2.0, 5.0, 3)
    """

    values: np.ndarray
    weights: np.ndarray
    error: int

    @cached_property
    def _ranks(self) -> np.ndarray:
        return np.cumsum(self.weights)

    @property
    def count(self) -> int:
        """Number of values that are not null."""
        return int(self._ranks[-1]) if len(self.values) else 0

    @property
    def rank_error(self) -> float:
        """The bound :attr:`error` as a fraction of :attr:`count`."""
        return self.error / max(self.count, 1)

    @property
    def median(self) -> float | None:
        """The quantile of 0.5; of an even number of values the lower of the middle two."""
        return self.quantile(0.5)

    def quantile(self, q: float) -> float | None:
        """Return the smallest value whose rank is at least ``q * count``, or None when there are no values.

        It is a value of the data (NumPy's method ``inverted_cdf``, MLlib's ``approxQuantile``), never a mean of two.
        0 gives the minimum and 1 the maximum, both exact; in between the rank is within :attr:`error`.

        Raises
        ------
        ConfigError
            `q` is outside [0, 1].
        """
        if not 0 <= q <= 1:
            raise ConfigError(f"q is {q!r}, expected a fraction between 0 and 1")
        if not self.count:
            return None
        return float(self.values[np.searchsorted(self._ranks, q * self.count)])

    def spaced(self, n: int) -> np.ndarray:
        """Return the quantiles of 0, 1 / (n - 1), ..., 1, between two values of the data (NumPy's method ``linear``).

        They ascend, and are exactly the value of which several are equal, or which a quantile falls on. There is at
        least one value, and `n` is at least 2.

        Examples
        --------
        >>> Distribution(np.array([1.0, 2.0, 5.0]), np.array([1, 1, 1]), error=0).spaced(5).tolist()
        [1.0, 1.5, 2.0, 3.5, 5.0]
        """
        place = np.arange(n) * (self.count - 1) / (n - 1)  # not by fractions, whose rounding misses whole places
        below = np.floor(place)
        low, high = (self.values[np.searchsorted(self._ranks, at, side="right")] for at in (below, np.ceil(place)))
        return np.minimum(low + (place - below) * (high - low), high)


@dataclass(frozen=True)
class Quantiles(ColumnStatistic):
    """The :class:`Distribution` of each column of numbers or booleans, as float64; nulls are left out.

    Parameters
    ----------
    columns : tuple of str
        The columns.
    k : int, default=2**14
        How many values are kept per level, beyond the first; at least 8 and even. More is more exact and larger.

    Notes
    -----
    A compactor sketch. Values stand in levels; one of level h stands for ``2**h`` values. When a level is full, every
    second of its sorted values moves up one level, from the first or the second at the toss of a coin. A compaction
    of level h changes no rank by more than ``2**h``, and moves up at least about `k` values, so that on whatever path
    n values were partitioned and merged, no rank is wrong by more than about ``n / k * log2(n / 65536)``: one
    thousandth of n for a billion values and the default k. The result carries the sum over the compactions done,
    which is smaller, and the coin makes the true error smaller still. Up to 65,536 values nothing is compacted. The
    ends of a level are never moved, so minimum and maximum are exact. The coin is a hash of the values themselves:
    the same data in the same partitions give the same result.

    Manku, Rajagopalan and Lindsay, "Approximate medians and other quantiles in one pass and with limited memory",
    SIGMOD 1998; Karnin, Lang and Liberty, "Optimal quantile approximation in streams", FOCS 2016.

    Examples
    --------
    >>> from penstock import frames
    >>> quantiles = Quantiles(("x",))
    >>> state = quantiles.summarise(frames.from_arrow(pa.table({"x": [3, None, 1, 2]})))
    >>> quantiles.finish(state)["x"].median
    2.0
    """

    k: int = 2**14

    def __post_init__(self) -> None:
        if self.k < 8 or self.k % 2:
            raise ConfigError(f"k is {self.k!r}, expected an even number of at least 8")

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the values of one partition, sorted and compacted where the frame is."""
        numbers = frame.select(nw.col(*self.columns).cast(nw.Float64)) if self.columns else frame
        ordered = {name: to_array(numbers[name].drop_nulls().sort()) for name in self.columns}
        return {name: _packed(*_compact({0: values}, self.k), 0) for name, values in ordered.items()}

    def merge_column(self, states: Sequence[State]) -> State:
        """Put the levels of the same weight together and compact what is full."""
        error = sum(state["error"] for state in states)
        return _packed(*_compact(_unpacked(states), self.k), error)

    def finish_column(self, name: str, state: State) -> Distribution:
        """Return the distribution of one column."""
        levels = _unpacked([state])
        values = np.concatenate([*levels.values(), np.empty(0)])
        weights = np.repeat([2**level for level in levels], [len(kept) for kept in levels.values()]).astype(np.int64)
        order = np.argsort(values, kind="stable")
        return Distribution(values[order], weights[order], state["error"])


def _compact(levels: Levels, k: int) -> tuple[Levels, int]:
    """Halve every level that is too full, from the lowest up; return the levels and the rank error this added."""
    kept = dict(levels)
    error = level = 0
    while level <= max(kept, default=0):
        values = kept.get(level, ())
        if len(values) > (k if level else EXACT):
            kept[level], moved = _halve(values)
            kept[level + 1] = np.sort(np.concatenate([kept.get(level + 1, moved[:0]), moved]), kind="stable")
            error += 2**level
        level += 1
    return kept, error


def _halve(values: Any) -> tuple[Any, Any]:
    """Return the values that stay (both ends, and one more of an odd number) and the half of the others that move."""
    last = len(values) - 1 - len(values) % 2
    moved = values[1:last]
    return np.append(values[:1], values[last:]), moved[_coin(moved) :: 2]


def _coin(values: Any) -> int:
    """Return 0 or 1, drawn from the value in the middle; minus zero counts as zero."""
    middle = values[len(values) // 2 : len(values) // 2 + 1] + 0.0
    return int(hash_rows(middle.view(np.uint64), seed=len(values))[0] >= 0.5)


def _packed(levels: Levels, added: int, error: int) -> State:
    values = matrices.to_host(np.concatenate(list(levels.values())))
    weights = np.repeat(list(levels), [len(kept) for kept in levels.values()])
    return {"table": pa.table({"value": values, "level": pa.array(weights, pa.int8())}), "error": error + added}


def _unpacked(states: Sequence[State]) -> Levels:
    """Return the values of all states by level, sorted."""
    table = pa.concat_tables([state["table"] for state in states])
    values, levels = table["value"].to_numpy(), table["level"].to_numpy()
    return {int(level): np.sort(values[levels == level], kind="stable") for level in np.unique(levels)} or {0: values}
