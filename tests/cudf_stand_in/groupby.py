"""Rows by the values of columns: their number in each group, and the groups themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from cudf_stand_in.index import Index
from cudf_stand_in.spec import Checked
from cudf_stand_in.values import is_null, nans_to_nulls


class DataFrameGroupBy(Checked, owner="cudf.core.groupby.groupby.DataFrameGroupBy"):
    @staticmethod
    def _of(frame: Any, by: Any, dropna: bool) -> DataFrameGroupBy:
        made = DataFrameGroupBy.__new__(DataFrameGroupBy)
        made._frame, made._by = frame, [by] if isinstance(by, str) else list(by)
        made._rows = made._grouped(dropna)
        return made

    def _grouped(self, dropna: bool) -> dict[tuple, np.ndarray]:
        """Return the places of the rows of each group, in the order in which groups occur."""
        keys = [nans_to_nulls(self._frame._columns[name]) for name in self._by]
        kept = ~np.any([is_null(key) for key in keys], axis=0) if dropna else np.ones(len(self._frame), bool)
        found: dict[tuple, list[int]] = {}
        for place, key in enumerate(zip(*(values.to_pylist() for values in keys), strict=True)):
            if kept[place]:
                found.setdefault(key, []).append(place)
        return {key: np.array(at) for key, at in found.items()}

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return ((key, self._frame._taken(at)) for key, at in self._rows.items())

    def size(self) -> Any:
        from cudf_stand_in.series import Series

        if len(self._by) != 1:
            raise NotImplementedError("sizes by more than one column are not in the stand-in")
        firsts = self._frame[self._by[0]]._values.take(pa.array([at[0] for at in self._rows.values()], pa.int64()))
        sizes = pa.array([len(at) for at in self._rows.values()], pa.int64())
        return Series._of(sizes, Index(firsts, name=self._by[0]), None)
