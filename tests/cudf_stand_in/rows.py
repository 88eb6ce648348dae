"""Rows of a column chosen, ordered and made distinct."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cudf_stand_in.index import unlabelled
from cudf_stand_in.labelled import Labelled
from cudf_stand_in.membership import is_in
from cudf_stand_in.selection import ENDS, element, places, replaced, require_same_index
from cudf_stand_in.values import nans_to_nulls, values_of


class Rows(Labelled):
    """Mixed into a series."""

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, key: Any) -> Any:
        require_same_index(self, key)
        return self._taken(places(key, len(self)))

    def __setitem__(self, key: Any, value: Any) -> None:
        require_same_index(self, key)
        self._values = replaced(self._values, places(key, len(self)), value)

    def _row(self, place: int) -> Any:
        return element(self._values, place)

    def _taken(self, at: np.ndarray) -> Any:
        return self._of(self._values.take(pa.array(at)), self._index._taken(at), self.name)

    def take(self, indices: Any) -> Any:
        return self._taken(places(indices, len(self)))

    def head(self, n: int = 5) -> Any:
        return self._taken(np.arange(len(self))[:n])

    def tail(self, n: int = 5) -> Any:
        return self._taken(np.arange(len(self))[-n:] if n else np.arange(0))

    def reset_index(self, drop: bool = False, name: Any = 0) -> Any:
        if not drop:
            return self.rename(name).to_frame().reset_index()
        return self._of(self._values, unlabelled(len(self)), self.name)

    def isin(self, values: Any) -> Any:
        return self._like(is_in(self._values, values_of(values, nan_as_null=False)))

    def sort_values(self, ascending: bool = True, na_position: str = "last") -> Any:
        key = ("", "ascending" if ascending else "descending", ENDS[na_position])
        return self._taken(pc.sort_indices(nans_to_nulls(self._values), sort_keys=[key]).to_numpy())

    def unique(self) -> Any:
        values = self._values.unique()
        return self._of(values, unlabelled(len(values)), self.name)

    def copy(self, deep: bool = True) -> Any:
        return self._like(self._values)

    def rename(self, index: Any = None) -> Any:
        return self._of(self._values, self._index, index)
