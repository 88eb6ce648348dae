"""The labels of rows, and rows by them, as frames and series alike have them."""

from typing import Any

from cudf_stand_in.index import Index
from cudf_stand_in.selection import ByLabel, ByPlace


class Labelled:
    """Mixed into frames and series."""

    @property
    def loc(self) -> ByLabel:
        return ByLabel(self)

    @property
    def iloc(self) -> ByPlace:
        return ByPlace(self)

    @property
    def index(self) -> Index:
        return self._index

    @index.setter
    def index(self, labels: Any) -> None:
        made = labels if isinstance(labels, Index) else Index(labels)
        if len(made) != len(self):
            raise ValueError(f"Length mismatch: Expected {len(self)} elements, got {len(made)}")
        self._index = made
