"""Columns centred and scaled by their quantiles, which outliers do not move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.stages.base import Fitted
from penstock.stages.parameter_checks import in_range
from penstock.stages.preprocessing.scaling.affine import (
    Affine,
    AffineScaler,
    check_quality,
    check_range,
    quality,
    ratio,
)
from penstock.stages.shapes import Fields, Number, Shape, by_column
from penstock.statistics import Quantiles, Statistic


@dataclass(frozen=True)
class RobustScaler(AffineScaler):
    """Subtracts the median and divides by the range between two quantiles, the quartiles by default, in float64.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    lower, upper : float, default=0.25 and 0.75
        The quantiles whose difference is the scale, between 0 and 1, `lower` below `upper`.
    with_centering : bool, default=True
        Subtract the median, as scikit-learn does by default and MLlib does not.
    with_scaling : bool, default=True
        Divide by the range.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        `lower` and `upper` are not fractions, or `lower` is not below `upper`.
    SchemaError
        At fit, before reading: a column is missing or not numeric.
    DataValueError
        At fit: a column has no value that is not null, or holds an infinity (column, file and row are named), or the
        range of its values overflows float64.

    Notes
    -----
    A quantile is a value of the data, as in MLlib; scikit-learn interpolates between two. It is exact up to 65,536
    values; beyond, its rank is wrong by at most about a thousandth of the rows for a billion of them, and by less for
    fewer, see :class:`~penstock.statistics.Quantiles`; there is no ``relativeError`` to set.

    A null stays null and takes no part. A column whose two quantiles are equal has no scale and becomes 0.0 wherever it
    is not null, as in MLlib, which makes nothing of columns that are mostly one value; scikit-learn divides such a
    column by 1. So does one whose range is too small to divide by, below about 6e-309. An infinity that comes after the
    fit stays infinite, except in such a column. Learned are ``median`` and ``range``, numbers by column.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1, 2, 3, 1000, None]}))
    >>> ps.Pipeline(st.RobustScaler("x")).fit(data).transform(data).to_arrow()["x"].to_pylist()
    [-0.5, 0.0, 0.5, 499.0, None]
    """

    _: KW_ONLY
    lower: float = field(default=0.25, metadata=in_range(least=0, most=1))
    upper: float = field(default=0.75, metadata=in_range(least=0, most=1))
    with_centering: bool = True
    with_scaling: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.lower < self.upper:
            raise ConfigError(
                f"lower and upper of RobustScaler are {self.lower!r} and {self.upper!r}, expected lower below upper",
                stage=self.title,
            )

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for quantiles, and for what would spoil them."""
        return {**quality(self.inputs(), schema), "quantiles": Quantiles(self.inputs())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``median`` and ``range`` of each column."""
        check_quality(results)
        found = results["quantiles"]
        for name, values in found.items():
            check_range(name, values.quantile(0.0), values.quantile(1.0))
        return {
            "median": {name: values.median for name, values in found.items()},
            "range": {
                name: values.quantile(self.upper) - values.quantile(self.lower) for name, values in found.items()
            },
        }

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        return Fields(
            {"median": by_column(self.inputs(), Number()), "range": by_column(self.inputs(), Number(least=0))}
        )

    def affine(self, name: str, fitted: Fitted) -> Affine:
        """Return the line; a constant 0 for a column without a range."""
        shift = fitted["median"][name] if self.with_centering else 0.0
        return Affine(shift, ratio(1.0, fitted["range"][name]) if self.with_scaling else 1.0)
