"""The smallest and the largest value of a sparse vector at each index: what a model on it has to know beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.frames import sparse
from penstock.statistics.base import State, Statistic, merge_fields
from penstock.statistics.rules import add_counts
from penstock.statistics.vector_faults import BROKEN, count_faults, refuse_faults

_FAULTS = ("null", *BROKEN)


@dataclass(frozen=True, eq=False)
class Entries:
    """The indices of a sparse vector.

    Attributes
    ----------
    name : str
        Of the vector.
    index : numpy.ndarray
        int32, ascending: those that some row has.
    low, high : numpy.ndarray
        The smallest and the largest value at each, float64; the zero of a row that leaves the index out is one.
    rows : int
        How many rows count.
    """

    name: str
    index: np.ndarray
    low: np.ndarray
    high: np.ndarray
    rows: int


@dataclass(frozen=True)
class IndexExtremes(Statistic):
    """The :class:`Entries` of one sparse vector; the state grows with the indices that occur, not with its length.

    Parameters
    ----------
    columns : tuple of str
        Indices and values, see `penstock.frames.sparse.columns`, and the weight if it is `weighted`.
    weighted : bool, default False
        Rows count that have a weight above 0.

    Raises
    ------
    DataValueError
        When it is finished: rows that are null, or hold no vector of finite numbers.

    Examples
    --------
    >>> from penstock import frames
    >>> extremes = IndexExtremes(sparse.columns("v"))
    >>> kind = pa.schema(list(sparse.fields(["v"]).items()))
    >>> frame = frames.from_arrow(pa.table({"v_indices": [[0, 3], [3]], "v_values": [[5.0, 2.0], [1.0]]}, kind))
    >>> found = extremes.finish(extremes.summarise(frame))
    >>> found.index.tolist(), found.low.tolist(), found.high.tolist()
    ([0, 3], [0.0, 1.0], [5.0, 2.0])
    """

    merges_slices = True

    weighted: bool = False

    @property
    def name(self) -> str:
        """The name of the vector."""
        return self.columns[0].removesuffix("_indices")

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the extremes of one partition, and how many rows have which fault."""
        faults = count_faults(frame, self.name, _FAULTS)
        rows = frame.filter(nw.col(self.columns[-1]) > 0) if self.weighted else frame
        rows = rows.head(0) if any(faults) else rows
        indices, values = sparse.pair(rows, self.name)
        places, numbers = (each.elements.to_numpy(zero_copy_only=False) for each in (indices, values))
        table = pa.table({"index": places, "count": np.ones(len(places), np.int64), "min": numbers, "max": numbers})
        return {"faults": faults, "rows": len(rows), "table": _joined([table])}

    def merge(self, states: Sequence[State]) -> State:
        """Join index by index."""
        return merge_fields(states, faults=add_counts, rows=sum, table=_joined)

    def finish(self, state: State) -> Entries:
        """Put the indices in order."""
        refuse_faults(self.name, _FAULTS, state["faults"])
        table = state["table"]
        index, count, low, high = (table[name].to_numpy() for name in ("index", "count", "min", "max"))
        left_out = count < state["rows"]
        low, high = (np.where(left_out, end(each, 0.0), each) for end, each in ((np.minimum, low), (np.maximum, high)))
        return Entries(self.name, index, low, high, state["rows"])


def _joined(tables: Sequence[pa.Table]) -> pa.Table:
    """Return one row an index, ascending."""
    ends = pa.concat_tables(tables).group_by("index").aggregate([("count", "sum"), ("min", "min"), ("max", "max")])
    return ends.rename_columns(tables[0].column_names).sort_by("index").combine_chunks()
