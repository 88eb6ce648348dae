"""How far a row is from all others, its columns taken together."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.frames import matrices
from penstock.stages.base import Fitted, RowFunction, Tags, with_fields
from penstock.stages.preprocessing._added import AddedColumns
from penstock.stages.preprocessing.columns import finite
from penstock.stages.preprocessing.numeric._elliptic import EllipticStage, squared_distances, whitening
from penstock.stages.target import null_where, refuse_overflow
from penstock.statistics.rules import refuse, rules_for


@dataclass(frozen=True)
class MahalanobisDistance(EllipticStage, AddedColumns):
    """Adds the squared Mahalanobis distance of a row from the mean, and whether that makes it an outlier.

    The distance is in units of how columns vary together: a row far from zero in the direction in which all rows
    spread is near, one that breaks a correlation is far. Of normal columns it has a chi-square distribution, of as many
    degrees of freedom as there are columns.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1), at most 5,000; they stay.
    output_column : str, default="mahalanobis"
        Name of the float64 column of squared distances.
    outlier_column : str, optional
        Name of a boolean column, true where the distance is beyond the quantile; there is none unless it is named.
    quantile : float, default=0.999
        Of the chi-square distribution; above 0 and below 1.
    shrinkage : float, {"auto", "oas"} or None, default=None
        How far the covariance is drawn towards a multiple of the identity, from 0 to 1; see
        :class:`LinearDiscriminantAnalysis`.

    Raises
    ------
    ConfigError
        A parameter is wrong, or at fit, before reading, a column to be added is there.
    SchemaError
        At fit, before reading: a column is missing or not numeric.
    DataValueError
        At fit: a value is null, infinite or beyond 1e150 (1e75 for "auto"); there are no rows; a column is constant, or
        others explain it up to 1e-12 of its variance, and nothing is shrunk. At use: a value is infinite, or so far
        from the mean that the distance overflows. Column, count, file and row are named.

    Notes
    -----
    Learned are ``mean`` and ``covariance`` (with n in the denominator), lists of numbers in the order of the columns:
    those of scikit-learn's ``EmpiricalCovariance``, ``ShrunkCovariance``, ``OAS``, and of ``LedoitWolf`` for
    standardised columns. Outliers that are learned from move both: clip the worst before, or learn from clean rows. A
    row with a null has null for a distance.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 2.0, 0.0, 2.0], "y": [0.0, 0.0, 4.0, 4.0]}))
    >>> model = ps.Pipeline(st.MahalanobisDistance(["x", "y"], outlier_column="odd")).fit(data)
    >>> model.predict({"x": 1.0, "y": 12.0})
    {'mahalanobis': 25.0, 'odd': True}
    """

    _: KW_ONLY
    output_column: str = "mahalanobis"
    outlier_column: str | None = None

    tags: ClassVar[Tags] = Tags(accepts="numeric", vectors=True)

    def outputs(self) -> tuple[str, ...]:
        return (self.output_column, *([] if self.outlier_column is None else [self.outlier_column]))

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        return with_fields(schema, dict(zip(self.outputs(), (pa.float64(), pa.bool_()), strict=False)))

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Add the distances.

        Raises
        ------
        DataValueError
            A column holds an infinity, or a distance overflows.
        """
        columns = matrices.to_rows(frame, self.inputs(), narrow=True)
        refuse(rules_for(self.inputs(), "infinite"), matrices.count_infinite(columns.T))
        distances, missing = self.distances(columns, fitted, frames.kind_of(frame))
        self._refuse_overflow(distances, missing)
        made = zip(self.outputs(), (distances, distances > self.limit), strict=False)
        series = [matrices.column(frame, name, values) for name, values in made]
        return frame.with_columns(*[null_where(frame, each, missing) for each in series])

    def _refuse_overflow(self, distances: Any, missing: Any) -> None:
        problem = "are so far from the mean that their distance overflows float64"
        refuse_overflow(np.isfinite(distances), missing, problem, self.inputs())

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Return the distance of one row."""
        names, outputs, whitened = self.inputs(), self.outputs(), whitening(fitted)

        def call(row: dict[str, Any]) -> None:
            values = [finite(name, row[name]) for name in names]
            if None in values:
                row.update(dict.fromkeys(outputs))
                return
            with np.errstate(over="ignore", invalid="ignore"):
                distances = squared_distances(np.array(values, dtype=float)[:, None], *whitened, "cpu")
            self._refuse_overflow(distances, np.zeros(1, dtype=bool))
            row.update(zip(outputs, (float(distances[0]), bool(distances[0] > self.limit)), strict=False))

        return call
