"""Outliers capped at bounds learned from the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.frames.columns import arrow_schema
from penstock.stages.base import ColumnStage, Fitted
from penstock.stages.preprocessing.columns import clipped_value
from penstock.stages.preprocessing.numeric.outliers import OutlierStage


@dataclass(frozen=True)
class Winsorizer(OutlierStage, ColumnStage):
    """Puts a bound learned at fit in place of every value beyond it, as feature-engine's ``Winsorizer``.

    ============== =========================================================================== =====
    method         lower and upper bound                                                       fold
    ============== =========================================================================== =====
    ``gaussian``   mean -/+ fold * standard deviation (n in the denominator)                   3
    ``iqr``        first quartile - fold * range, third + fold * range, of the quartiles       1.5
    ``mad``        median -/+ fold * MAD / 0.67449                                             3.29
    ``quantiles``  the quantiles of fold and 1 - fold                                          0.05
    ============== =========================================================================== =====

    MAD is the median distance from the median; divided so it is the standard deviation of a normal distribution.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    capping_method : {"gaussian", "iqr", "mad", "quantiles"}, default="gaussian"
        How the bounds are found.
    tail : {"right", "left", "both"}, default="right"
        Which of the two bounds there is.
    fold : float or "auto", default="auto"
        How far out the bounds are; "auto" is the last column above. Above 0, for quantiles also below 0.5.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        A parameter is wrong.
    SchemaError
        At fit, before reading: a column is missing or not numeric.
    DataValueError
        At fit: a column has no value that is not null, or holds an infinity (column, file and row are named), or varies
        so little that the bounds would be equal though the values are not, as where half of them are zero.

    Notes
    -----
    A floating column keeps its type, any other becomes float64. A null stays null and takes no part. A constant column
    has its value for both bounds; feature-engine refuses it. An infinity that comes after the fit becomes the bound of
    its side.

    Quantiles and medians are values of the data (NumPy's ``inverted_cdf``); feature-engine interpolates between two.
    They are exact up to 65,536 values; beyond, their ranks are wrong by at most about a thousandth of the rows for a
    billion of them, and by less for fewer, see :class:`~penstock.statistics.Quantiles`. MAD comes of the same summary,
    in the same scan: it is the median of the distances from the median above, with a rank that is wrong by at most
    twice that. Learned are ``lower`` and ``upper``, numbers by column.

    C. Leys and others, "Detecting outliers: do not use standard deviation around the mean, use absolute deviation
    around the median", Journal of Experimental Social Psychology 49, 2013.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1, 2, 3, 4, 1000, None]}))
    >>> model = ps.Pipeline(st.Winsorizer("x", capping_method="iqr")).fit(data)
    >>> model.fitted[0], model.transform(data).to_arrow()["x"].to_pylist()
    ({'lower': {}, 'upper': {'x': 7.0}}, [1.0, 2.0, 3.0, 4.0, 7.0, None])
    """

    def output_type(self, kind: pa.DataType) -> pa.DataType:
        """Return `kind` where it is floating, otherwise float64."""
        return kind if pa.types.is_floating(kind) else pa.float64()

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Cap all columns in one list of expressions."""
        schema = arrow_schema(frame, self.inputs())
        return frame.with_columns(*[
            self._capped(name, schema.field(name).type, fitted).alias(out) for name, out in self.pairs()
        ])  # fmt: skip

    def _capped(self, name: str, kind: pa.DataType, fitted: Fitted) -> nw.Expr:
        values = nw.col(name) if self.output_type(kind) == kind else nw.col(name).cast(nw.Float64)
        return values.clip(*self._within(name, kind, fitted))

    def _within(self, name: str, kind: pa.DataType, fitted: Fitted) -> tuple[float | None, float | None]:
        """Return the bounds of a column within what its type holds; those of float32 may be beyond it."""
        largest = float(np.finfo(self.output_type(kind).to_pandas_dtype()).max)
        lower, upper = (fitted[side].get(name) for side in ("lower", "upper"))
        return (None if lower is None else max(lower, -largest), None if upper is None else min(upper, largest))

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Cap one value."""
        return clipped_value(self.output_type(kind), *self._within(name, kind, fitted))
