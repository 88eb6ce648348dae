"""Replicates of statistics under the Poisson bootstrap: rows drawn by their number, so that partitions do not matter.

In a replicate each row counts as often as a Poisson variable of mean 1 says, independently of all others; that is the
limit of drawing with replacement, and needs no row to know of another (Chamandy et al., "Estimating uncertainty for
massive data streams", Google, 2012).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import narwhals as nw
import numpy as np

from penstock import frames
from penstock.core.names import REPLICATE
from penstock.frames import ROW, matrices
from penstock.io.row_hashes import hash_rows
from penstock.statistics.aggregates import row_numbers
from penstock.statistics.base import State, Statistic
from penstock.statistics.grouped.base import Grouped, union

WEIGHT = REPLICATE
"""The column of weights that the statistics of a replicate read, float64."""

_POISSON = np.array(list(accumulate(math.exp(-1) / math.factorial(k) for k in range(18))))
_STRIDE = 0xD1342543DE82EF95  # not the one of SplitMix64: replicates would be the same draws, moved by a row


@dataclass(frozen=True)
class Resampled(Grouped):
    """Statistics of each replicate, by its number.

    Parameters
    ----------
    weight : str or None
        The column of weights, 0 or more; a replicate multiplies it by how often the row was drawn.
    replicates : int
        How many, at least 1.
    seed : int
        With the row's number and the replicate's it alone decides how often a row is drawn.

    Examples
    --------
    >>> from penstock.statistics import RegressionErrors
    >>> import pyarrow as pa
    >>> errors = RegressionErrors(("prediction", "label", WEIGHT))
    >>> resampled = Resampled.of([errors], weight=None, replicates=3, seed=1)
    >>> table = pa.table({"prediction": [1.0, 2.0], "label": [2.0, 5.0], ROW: [0, 1]})
    >>> found = resampled.finish(resampled.summarise(frames.from_arrow(table)))
    >>> [errors.mae for errors, in found.values()]
    [1.0, 3.0, 1.0]
    """

    weight: str | None
    replicates: int
    seed: int

    @classmethod
    def of(cls, statistics: Sequence[Statistic], *, weight: str | None, replicates: int, seed: int) -> Resampled:
        """Return the replicates of statistics that read the column `WEIGHT` as their weights."""
        read = [name for name in union(statistics) if name != WEIGHT]
        columns = dict.fromkeys([*read, *([weight] if weight is not None else []), ROW])
        return cls(tuple(columns), tuple(statistics), weight, replicates, seed)

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the states of the statistics of each replicate."""
        rows, poisson = row_numbers(frame), matrices.to_device(_POISSON, frames.kind_of(frame))
        drawn = (draws(rows, self.seed, replicate, poisson) for replicate in range(self.replicates))
        return [self._summarised(self._weighed(frame, each)) for each in drawn]

    def merge(self, states: Sequence[State]) -> State:
        """Merge replicate by replicate."""
        return [self._merged(parts) for parts in zip(*states, strict=True)]

    def finish(self, state: State) -> Mapping[Hashable, tuple[Any, ...]]:
        """Return the results of each replicate."""
        return {number: self._finished(each) for number, each in enumerate(state)}

    def _weighed(self, frame: nw.DataFrame[Any], drawn: Any) -> nw.DataFrame[Any]:
        frame = frame.with_columns(matrices.column(frame, WEIGHT, drawn))
        if self.weight is not None:
            frame = frame.with_columns(nw.col(WEIGHT) * nw.col(self.weight).cast(nw.Float64))
        return frame


def draws(rows: Any, seed: int, replicate: int, poisson: Any = _POISSON) -> Any:
    """Return how often each row is drawn in a replicate: Poisson of mean 1, float64.

    Parameters
    ----------
    rows : array of uint64
        Row numbers in the dataset.
    poisson : array
        The cumulative distribution, where the numbers are.

    Examples
    --------
    >>> draws(np.arange(6, dtype=np.uint64), seed=1, replicate=0).tolist()
    [1.0, 0.0, 2.0, 0.0, 1.0, 0.0]
    """
    uniform = hash_rows(rows, (seed + (replicate + 1) * _STRIDE) % 2**64)
    return np.searchsorted(poisson, uniform, side="right").astype(np.float64)
