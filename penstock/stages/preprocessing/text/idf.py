"""Sparse vectors weighed by how rare each of their indices is."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.frames import sparse
from penstock.frames.ragged import Ragged, with_lists
from penstock.stages.base import Fitted, RowFunction, Stage, named_outputs, normalise_columns, with_fields
from penstock.stages.parameter_checks import in_range
from penstock.stages.preprocessing.categories.vocabulary import check_new
from penstock.stages.shapes import Fields, Integer, Shape, TableOf, by_column
from penstock.statistics.base import Statistic
from penstock.statistics.index_counts import IndexCounts, Indices, refuse_infinite


@dataclass(frozen=True)
class IDF(Stage):
    """Multiplies the value at each index of sparse vectors by the index's inverse document frequency.

    That is log((m + 1) / (d + 1)) of m vectors at fit, of which d have a value above zero there: MLlib's. One at an
    index that all have becomes 0, and is kept as such.

    Parameters
    ----------
    columns : str or sequence of str
        Names of sparse vectors, such as :class:`HashingTF` and :class:`CountVectorizer` make: ``tf`` for the columns
        ``tf_indices`` and ``tf_values``, see `penstock.frames.sparse`.
    min_doc_freq : int, default=0
        What is weighed by 0: indices at which fewer vectors at fit have a value above zero.
    output_columns : sequence of str, optional
        Names for the vectors made, one for each; without it the vectors are replaced.

    Raises
    ------
    ConfigError
        A parameter is wrong, or a column of a vector that is made is there already.
    SchemaError
        Before reading: a column of a vector is missing, or not of its type.
    DataValueError
        Columns are no sparse vectors, or a value is infinite or NaN; at fit also: there is no vector.

    Notes
    -----
    A null stays null and counts for nothing. An index that no vector at fit had has a d of 0. Learned are ``idf``, by
    vector an Arrow table of ``index``, ``count`` and ``idf``, and ``vectors``, their number.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"words": [["a", "b"], ["b"], ["b"]]}))
    >>> tf = st.CountVectorizer("words", output_columns=["tf"])
    >>> ps.Pipeline(tf, st.IDF("tf")).fit(data).transform(data).select("tf_indices", "tf_values").to_polars().rows()
    [([0, 1], [0.0, 0.6931471805599453]), ([0], [0.0]), ([0], [0.0])]
    """

    columns: str | Sequence[str]
    _: KW_ONLY
    min_doc_freq: int = field(default=0, metadata=in_range(least=0, whole=True))
    output_columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise_columns(self, "columns", "output_columns")

    def bind(self, schema: pa.Schema) -> Self:
        """Check that the vectors are there, and the names of what is made."""
        names = sparse.resolve(self.columns, schema, self.title)
        outputs = named_outputs(self, names)
        if outputs != names:
            check_new(dataclasses.replace(self, columns=names), schema)
        return dataclasses.replace(self, columns=names, output_columns=outputs)

    def pairs(self) -> list[tuple[str, str]]:
        """Return names of vectors with those that are made of them."""
        names = tuple(self.columns)
        return list(zip(names, self.output_columns or names, strict=True))

    def inputs(self) -> tuple[str, ...]:
        """Return the columns of the vectors."""
        return tuple(sparse.fields([name for name, _ in self.pairs()]))

    def outputs(self) -> tuple[str, ...]:
        """Return the columns of the vectors made."""
        return tuple(sparse.fields([out for _, out in self.pairs()]))

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with the columns of the vectors made."""
        return with_fields(schema, sparse.fields([out for _, out in self.pairs()]))

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask how many vectors have each index."""
        return {"indices": IndexCounts(self.inputs())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``idf`` and ``vectors`` of each vector."""
        found = {name: results["indices"][name] for name, _ in self.pairs()}
        return {
            "idf": {name: self._weights(name, indices) for name, indices in found.items()},
            "vectors": {name: indices.vectors for name, indices in found.items()},
        }

    def _weights(self, name: str, found: Indices) -> pa.Table:
        if not found.vectors:
            column = sparse.columns(name)[0]
            raise DataValueError(f"column {column!r} has no vector: all of its rows are null", column=column)
        weights = [self._weight(found.vectors, count) for count in found.table["count"].to_pylist()]
        return found.table.append_column("idf", pa.array(weights, pa.float64()))

    def _weight(self, vectors: int, count: int) -> float:
        return math.log((vectors + 1) / (count + 1)) if count >= self.min_doc_freq else 0.0

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        names = [name for name, _ in self.pairs()]
        columns = {"index": pa.types.is_integer, "count": pa.types.is_integer, "idf": pa.types.is_floating}
        weights = by_column(names, TableOf(columns, unique=("index",)))
        return Fields({"idf": weights, "vectors": by_column(names, Integer())})

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Weigh the values of all vectors of a column in one call."""
        made: dict[str, Ragged] = {}
        for name, out in self.pairs():
            indices, values = sparse.pair(frame, name)
            numbers = values.elements.to_numpy(zero_copy_only=False)
            refuse_infinite(name, int((~np.isfinite(numbers)).sum()))
            weights = self._looked_up(indices.elements.to_numpy(zero_copy_only=False), name, fitted)
            weighed = values.with_lengths(pa.array(numbers * weights), values.lengths)
            made |= dict(zip(sparse.columns(out), (indices, weighed), strict=True))
        return with_lists(frame, made)

    def _looked_up(self, places: np.ndarray, name: str, fitted: Fitted) -> np.ndarray:
        table, unseen = fitted["idf"][name], self._weight(fitted["vectors"][name], 0)
        known = table["index"].to_numpy()
        at = np.searchsorted(known, places)
        found = np.append(known, -1)[at] == places
        return np.where(found, np.append(table["idf"].to_numpy(), unseen)[at], unseen)

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Weigh the vectors of one row."""
        tables = {name: fitted["idf"][name] for name, _ in self.pairs()}
        weights = {
            n: dict(zip(*(t[each].to_pylist() for each in ("index", "idf")), strict=True)) for n, t in tables.items()
        }

        def call(row: dict[str, Any]) -> None:
            for name, out in self.pairs():
                indices, values = (row[column] for column in sparse.columns(name))
                unseen = self._weight(fitted["vectors"][name], 0)
                if indices is not None:
                    infinite = sum(not math.isfinite(value) for value in values)
                    refuse_infinite(name, infinite)
                    values = [v * weights[name].get(i, unseen) for i, v in zip(indices, values, strict=True)]
                row.update(zip(sparse.columns(out), (indices, values), strict=True))

        return call
