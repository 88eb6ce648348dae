"""In how many sparse vectors each index has a value: document frequencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import DataValueError
from penstock.frames import sparse
from penstock.statistics.base import State, Statistic, merge_fields
from penstock.statistics.vector_faults import not_finite


@dataclass(frozen=True)
class Indices:
    """The indices of sparse vectors.

    Attributes
    ----------
    table : pyarrow.Table
        ``index`` (int32, ascending) and ``count`` (int64): vectors whose value there is counted, if there are any.
    vectors : int
        Rows that have a vector.
    size : int
        The largest index that occurs and one; 0 if none does.
    """

    table: pa.Table
    vectors: int
    size: int


@dataclass(frozen=True)
class IndexCounts(Statistic):
    """The :class:`Indices` of sparse vectors, by their names.

    Parameters
    ----------
    columns : tuple of str
        Indices and values of each vector in turn, see `penstock.frames.sparse.columns`.
    positive : bool, default True
        Values above zero are counted; all that vectors have, zeros among them, if not.

    Raises
    ------
    DataValueError
        Columns are no sparse vectors, or values are not finite.

    Examples
    --------
    >>> counts = IndexCounts(sparse.columns("v"))
    >>> kind = pa.schema(list(sparse.fields(["v"]).items()))
    >>> frame = frames.from_arrow(pa.table({"v_indices": [[0, 3], [3]], "v_values": [[1.0, 2.0], [1.0]]}, kind))
    >>> found = counts.finish(counts.summarise(frame))["v"]
    >>> found.table.to_pylist(), found.vectors, found.size
    ([{'index': 0, 'count': 1}, {'index': 3, 'count': 2}], 2, 4)
    """

    merges_slices = True

    positive: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the vectors."""
        return tuple(column.removesuffix("_indices") for column in self.columns[::2])

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the indices of one partition, and the rows whose values are not finite."""
        return {name: _counted(frame, name, self.positive) for name in self.names}

    def merge(self, states: Sequence[State]) -> State:
        """Add up the counts of equal indices."""
        return {name: _merged([state[name] for state in states]) for name in self.names}

    def finish(self, state: State) -> Mapping[str, Indices]:
        """Put the indices in order."""
        for name in self.names:
            refuse_infinite(name, state[name]["infinite"])
        return {name: _ordered(state[name]) for name in self.names}


def _counted(frame: nw.DataFrame[Any], name: str, positive: bool) -> State:
    indices, values = sparse.pair(frame, name)
    places, numbers = (each.elements.to_numpy(zero_copy_only=False) for each in (indices, values))
    index, count = np.unique(places[numbers > 0] if positive else places, return_counts=True)
    return {
        "table": pa.table({"index": pa.array(index, pa.int32()), "count": pa.array(count, pa.int64())}),
        "vectors": int((~indices.missing).sum()),
        "size": int(places.max()) + 1 if len(places) else 0,
        "infinite": int((~np.isfinite(numbers)).sum()),
    }


def _merged(states: Sequence[State]) -> State:
    by_index = partial(frames.sum_by_key, keys=["index"])
    return merge_fields(states, table=by_index, vectors=sum, size=max, infinite=sum)


def _ordered(state: State) -> Indices:
    return Indices(state["table"].sort_by("index").combine_chunks(), state["vectors"], state["size"])


def refuse_infinite(name: str, count: int) -> None:
    """Raise DataValueError if `count` values of a vector are not finite."""
    if count:
        column = sparse.columns(name)[1]
        raise DataValueError(
            f"column {column!r} has {count} values that are infinite, or NaN, expected finite numbers",
            hint="Clean or filter these rows before this step.",
            column=column,
            predicate=not_finite(column),
        )
