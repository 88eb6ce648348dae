"""Rows of a table chosen and ordered."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cudf_stand_in.index import unlabelled
from cudf_stand_in.labelled import Labelled
from cudf_stand_in.selection import ENDS
from cudf_stand_in.values import is_null, nans_to_nulls


class FrameRows(Labelled):
    """Mixed into a frame."""

    def _taken(self, at: np.ndarray) -> Any:
        rows = pa.array(at)
        return self._of({name: values.take(rows) for name, values in self._columns.items()}, self._index._taken(at))

    def _row(self, place: int) -> Any:
        raise NotImplementedError("a row as a series is not in the stand-in")

    def head(self, n: int = 5) -> Any:
        return self._taken(np.arange(len(self))[:n])

    def dropna(self, axis: Any = 0, how: str = "any", subset: Sequence[Any] | None = None) -> Any:
        if axis != 0 or how != "any":
            raise NotImplementedError("only rows are dropped, and those with any null")
        missing = [is_null(self._columns[name]) for name in self._columns if subset is None or name in subset]
        return self._taken(np.flatnonzero(~np.any(missing, axis=0)))

    def reset_index(self, drop: bool = False) -> Any:
        labels = {} if drop else {self._index._name or "index": self._index._values}
        return self._of({**labels, **self._columns}, unlabelled(len(self)))

    def sort_values(self, by: Sequence[Any], ascending: Any = True, na_position: str = "last") -> Any:
        table = pa.table({name: nans_to_nulls(self._columns[name]) for name in by})
        ways = [ascending] * len(by) if isinstance(ascending, bool) else ascending
        keys = [(key, "ascending" if up else "descending", ENDS[na_position]) for key, up in zip(by, ways, strict=True)]
        return self._taken(pc.sort_indices(table, sort_keys=keys).to_numpy())
