"""Columns with mean 0 and standard deviation 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import pyarrow as pa

from penstock.stages.base import Fitted
from penstock.stages.constant_columns import constant_note
from penstock.stages.preprocessing.columns import check_values
from penstock.stages.preprocessing.scaling.affine import Affine, AffineScaler
from penstock.stages.shapes import Fields, Maybe, Number, Shape, by_column
from penstock.statistics import Counts, Extreme, Extremes, Moment, Moments, Statistic


@dataclass(frozen=True)
class StandardScaler(AffineScaler):
    """Subtracts the mean and divides by the sample standard deviation, ``z = (x - mean) / scale``, in float64.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    with_mean : bool, default=True
        Subtract the mean, as scikit-learn does by default and MLlib does not.
    with_std : bool, default=True
        Divide by the standard deviation with n - 1 in the denominator, as MLlib does (scikit-learn: n).
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
    A null stays null and takes no part in mean or deviation. A column that was constant at fit (a single row is)
    has ``scale`` 0 and becomes 0.0 wherever it is not null, as in MLlib. An infinity that comes after the fit stays
    infinite, except in such a column.

    The mean and the deviation are exact to rounding also where the mean is large; see
    :class:`~penstock.statistics.Moments`. Learned are ``mean`` and ``scale``, numbers by column.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1, 3, None]}))
    >>> ps.Pipeline(st.StandardScaler("x", with_std=False)).fit(data).transform(data).to_arrow()["x"].to_pylist()
    [-1.0, 1.0, None]
    """

    _: KW_ONLY
    with_mean: bool = True
    with_std: bool = True

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for moments, and for extremes: only they tell a constant column from one that hardly varies."""
        columns = self.inputs()
        return {"counts": Counts(columns), "moments": Moments(columns), "extremes": Extremes(columns)}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``mean`` and ``scale`` of each column."""
        check_values(results["counts"])
        moments, extremes, names = results["moments"], results["extremes"], self.inputs()
        return {
            "mean": {name: moments[name].mean for name in names},
            "scale": {name: _scale(moments[name], extremes[name]) for name in names},
        }

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        numbers = by_column(self.inputs(), Number())
        return Fields({"mean": numbers, "scale": by_column(self.inputs(), Maybe(Number(least=0)))})

    def notes(self, fitted: Fitted) -> list[str]:
        constant = [name for name, scale in fitted["scale"].items() if self.with_std and not scale]
        return constant_note(constant, "every value becomes 0.0")

    def affine(self, name: str, fitted: Fitted) -> Affine:
        """Return the line; a constant 0 for a column that was constant."""
        shift, scale = fitted["mean"][name] if self.with_mean else 0.0, fitted["scale"][name]
        if not self.with_std:
            return Affine(shift)
        # Polars divides by a constant through its reciprocal, unless the frame has one row; said here, it always does.
        return Affine(shift, 1.0 / scale) if scale else Affine(factor=0.0)


def _scale(moment: Moment, extreme: Extreme) -> float:
    return 0.0 if extreme.min == extreme.max else moment.std(ddof=1) or 0.0
