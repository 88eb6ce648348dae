"""What stages share that make a sparse vector of each list of words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa
from scipy.sparse import csr_matrix

from penstock.frames import sparse
from penstock.frames.ragged import Ragged
from penstock.stages.base import ColumnStage, Fitted, RowFunction, Tags, with_fields
from penstock.stages.preprocessing.categories.vocabulary import check_new

Count = Callable[[list[str]], dict[int, float]]
"""Values by index of the vector of one list of words."""


class VectorStage(ColumnStage):
    """A stage that adds the columns of a sparse vector for each column of lists of words: see `penstock.frames.sparse`.

    A vector is named for its column, or as `output_columns` says.
    """

    tags: ClassVar[Tags] = Tags(accepts="string list")

    def bind(self, schema: pa.Schema) -> Self:
        bound = super().bind(schema)
        check_new(bound, schema)
        return bound

    def pairs(self) -> list[tuple[str, str]]:
        """Return columns with the names of their vectors."""
        return list(zip(self.inputs(), self.output_columns or self.inputs(), strict=True))

    def outputs(self) -> tuple[str, ...]:
        return tuple(sparse.fields([out for _, out in self.pairs()]))

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return with_fields(schema, sparse.fields([out for _, out in self.pairs()]))

    @abstractmethod
    def vectors(self, name: str, lists: Ragged, fitted: Fitted) -> csr_matrix:
        """Return the vectors of lists without null elements, a row for each."""

    @abstractmethod
    def vector(self, name: str, fitted: Fitted) -> Count:
        """Return what `vectors` does to one list, as a function."""

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        made: dict[str, tuple[csr_matrix, np.ndarray]] = {}
        for name, out in self.pairs():
            lists = Ragged.of(frame, name).known()
            made[out] = self.vectors(name, lists, fitted), lists.missing
        return sparse.with_vectors(frame, made)

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        counters = [(name, sparse.columns(out), self.vector(name, fitted)) for name, out in self.pairs()]

        def call(row: dict[str, Any]) -> None:
            for name, (indices, values), count in counters:
                if row[name] is None:
                    row[indices] = row[values] = None
                    continue
                found = sorted(count([word for word in row[name] if word is not None]).items())
                row[indices], row[values] = [index for index, _ in found], [value for _, value in found]

        return call
