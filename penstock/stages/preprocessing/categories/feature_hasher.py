"""Numbers and categories of many columns hashed into one sparse vector."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa
from scipy.sparse import csr_matrix

from penstock.core.errors import ConfigError
from penstock.core.selectors import is_numeric
from penstock.frames import matrices, sparse
from penstock.frames.hashing import bucket, murmur3_text
from penstock.stages.base import Fitted, SelectedColumns, Tags, normalise_columns, with_fields, wrong_type
from penstock.stages.parameter_checks import in_range
from penstock.stages.preprocessing.categories._hashed import buckets
from penstock.stages.preprocessing.categories.vocabulary import check_new, text
from penstock.stages.preprocessing.columns import refuse_broken
from penstock.statistics.rules import Rule


@dataclass(frozen=True)
class FeatureHasher(SelectedColumns):
    """Adds a sparse vector that numbers and categories of all columns are hashed into, as MLlib's ``FeatureHasher``.

    A number is added at the index of its column's name. A category adds 1 at the index of ``column=value``: ``"c=a"``,
    ``"c=-7"``, ``"c=true"``. What falls on one index is added up. Null adds nothing. Nothing is learned, so that the
    vector is as long whatever categories come, and no vocabulary has to be kept.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers, booleans and strings. They stay. Strings and booleans are categories.
    num_features : int, default=262144
        Length of the vector, from 2 to 2**31 - 1; a power of two spreads best.
    categorical_columns : str or sequence of str, default=()
        Integer columns, among `columns`, that are categories too.
    output_column : str, default="features"
        Name of the vector: columns ``<output_column>_indices`` (list of int32, ascending) and
        ``<output_column>_values`` (list of float64); see `penstock.frames.sparse`.

    Raises
    ------
    ConfigError
        Before reading: a parameter is wrong, a categorical column is not among the columns or not of categories, or a
        new column is there already.
    SchemaError
        Before reading: a column is missing, or neither of numbers nor of strings.
    DataValueError
        When it runs: an infinity; column, count, first file and row are named.

    Notes
    -----
    The index of a text is its bucket as :class:`HashBucket` has it, the same as in MLlib. A number that is 0 has an
    index and the value 0. Floating columns, which MLlib takes as categories by Java's way to write a number, are not
    taken as such here; scikit-learn's ``FeatureHasher`` has another seed, and signs.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [2.5, None], "c": ["a", "b"]}))
    >>> made = ps.Pipeline(st.FeatureHasher(["x", "c"], num_features=1000)).fit(data).transform(data)
    >>> made.to_polars()["features_indices", "features_values"].rows()
    [([811, 922], [1.0, 2.5]), ([51], [1.0])]
    """

    _: KW_ONLY
    num_features: int = field(default=2**18, metadata=in_range(least=2, most=2**31 - 1, whole=True))
    categorical_columns: str | tuple[str, ...] = ()
    output_column: str = "features"

    tags: ClassVar[Tags] = Tags(accepts="any", hashes=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise_columns(self, "categorical_columns")

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns, and check what is a number and what a category."""
        bound = super().bind(schema)
        for name in bound.inputs():
            kind = schema.field(name).type
            if not (is_numeric(kind) or pa.types.is_string(kind) or pa.types.is_null(kind)):
                raise wrong_type(self.title, name, kind, "columns of numbers, booleans and strings")
        for name in self.categorical_columns:
            if name not in bound.inputs() or pa.types.is_floating(schema.field(name).type):
                raise ConfigError(
                    f"categorical_columns of FeatureHasher has {name!r}, expected integer, boolean or string ones of"
                    f" its columns: {', '.join(bound.inputs())}",
                    hint="Floating numbers have no one text; put them into buckets, or cast them, before.",
                    column=name, stage=self.title,
                )  # fmt: skip
        check_new(bound, schema)
        return bound

    def outputs(self) -> tuple[str, ...]:
        return sparse.columns(self.output_column)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return with_fields(schema, sparse.fields([self.output_column]))

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Hash column by column, and join what falls on one index on the host."""
        categories = [name for name in self.inputs() if self._is_category(name, frame.schema[name])]
        coded = frame.select(self.inputs()).with_columns(*[self._codes(frame, name) for name in categories])
        given = matrices.to_host(matrices.to_matrix(coded, self.inputs(), "float64"))
        if np.isinf(given).any():
            self._refuse(frame)
        matrix = self._joined(given, np.isin(self.inputs(), categories))
        return sparse.with_vectors(frame, {self.output_column: (matrix, np.zeros(len(frame), bool))})

    def _joined(self, given: np.ndarray, coded: np.ndarray) -> csr_matrix:
        """Return the vectors of columns that hold numbers, or, where `coded` says so, indices; NaN for null."""
        fixed = [bucket(murmur3_text(name), self.num_features) for name in self.inputs()]
        known = ~np.isnan(given)
        indices = np.where(coded, given, fixed)[known].astype(np.int32)
        values = np.where(coded, 1.0, given)[known]
        ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        matrix = csr_matrix((values, indices, ends), shape=(len(given), self.num_features))
        matrix.sum_duplicates()
        return matrix

    def _is_category(self, name: str, dtype: nw.dtypes.DType) -> bool:
        return name in self.categorical_columns or dtype in (nw.String, nw.Boolean)

    def _codes(self, frame: nw.DataFrame, name: str) -> nw.Series:
        """Return the index of each category, int32; null for null."""
        named = nw.concat_str(nw.lit(f"{name}="), text(name, frame.schema[name])).alias(name)
        return buckets(frame.select(named)[name], self.num_features)

    def _refuse(self, frame: nw.DataFrame) -> None:
        numbers = [name for name in self.inputs() if frame.schema[name].is_float()]
        refuse_broken(frame, Rule("infinite"), numbers)
