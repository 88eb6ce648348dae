"""Columns scaled to between -1 and 1, with zero where it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.stages.base import Fitted
from penstock.stages.preprocessing.scaling.affine import Affine, AffineScaler, check_quality, into_unit, quality
from penstock.stages.shapes import Fields, Number, Shape, by_column
from penstock.statistics import Extremes, Statistic


@dataclass(frozen=True)
class MaxAbsScaler(AffineScaler):
    """Divides a column by its largest absolute value, so that it lies in [-1, 1] and zeros stay zero; in float64.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    SchemaError
        At fit, before reading: a column is missing or not numeric.
    DataValueError
        At fit: a column has no value that is not null, or holds an infinity; column, file and row are named.

    Notes
    -----
    ``x * (1 / max_abs)``, as MLlib computes it, with factors next to these where they would miss 1: the largest value
    of the fit becomes 1 or -1 to the bit, and none lies beyond. scikit-learn divides, which may differ in the last
    digit. A null stays null, and an infinity that comes after the fit stays infinite. A column that was zero at fit in
    every row is left as it is, as in MLlib and scikit-learn, and so is one whose values are too small to divide by,
    below about 6e-309.
    Learned is ``max_abs``, a number by column.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1, -4, None]}))
    >>> ps.Pipeline(st.MaxAbsScaler("x")).fit(data).transform(data).to_arrow()["x"].to_pylist()
    [0.25, -1.0, None]
    """

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the extremes, and for what would spoil them."""
        return {**quality(self.inputs(), schema), "extremes": Extremes(self.inputs())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``max_abs`` of each column."""
        check_quality(results)
        ends = results["extremes"].items()
        return {"max_abs": {name: max(abs(float(each.min)), abs(float(each.max))) for name, each in ends}}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        return Fields({"max_abs": by_column(self.inputs(), Number(least=0))})

    def affine(self, name: str, fitted: Fitted) -> Affine:
        """Return the line through zero; for a column of zeros the values themselves."""
        return into_unit(fitted["max_abs"][name])
