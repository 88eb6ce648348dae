"""The labels of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cudf_stand_in import membership
from cudf_stand_in.arrays import ndarray
from cudf_stand_in.arrow import to_arrow
from cudf_stand_in.refusals import NotIterable
from cudf_stand_in.selection import places
from cudf_stand_in.spec import Checked
from cudf_stand_in.values import values_of


class Index(NotIterable, Checked, owner="cudf.Index"):
    def __init__(self, data: Any = None, dtype: Any = None, name: Any = None) -> None:
        self._values = values_of(data, dtype)
        self._name = name

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, key: Any) -> Index:
        return self._taken(places(key, len(self)))

    def _taken(self, at: np.ndarray) -> Index:
        return Index(self._values.take(pa.array(at)), name=self._name)

    @property
    def names(self) -> Sequence[Any]:
        return [self._name]

    def equals(self, other: Any) -> bool:
        return self is other or self._values.equals(other._values)

    def to_arrow(self) -> pa.Array:
        return to_arrow(self._values)

    def get_indexer(self, target: Any) -> ndarray:
        if pc.count_distinct(self._values, mode="all").as_py() != len(self):
            raise ValueError("Cannot get index for a non-unique Index.")
        return ndarray._of(membership.places(values_of(target), self._values))


def unlabelled(count: int) -> Index:
    """Return the index of so many rows that have no labels."""
    return Index(pa.array(np.arange(count)))
