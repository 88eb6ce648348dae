"""Columns scaled to a given range."""

from __future__ import annotations

import math
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
    TwoLines,
    between,
    check_quality,
    check_range,
    quality,
    ratio,
)
from penstock.stages.shapes import Fields, Number, Shape, by_column
from penstock.statistics import Extremes, Statistic


@dataclass(frozen=True)
class MinMaxScaler(AffineScaler):
    """Maps the smallest value of a column to `min` and the largest to `max`, and others in proportion, in float64.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    min, max : float, default=0.0 and 1.0
        The ends of the range that is made, finite, `min` below `max`; scikit-learn's ``feature_range``.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        `min` or `max` is not finite, or `min` is not below `max`.
    SchemaError
        At fit, before reading: a column is missing or not numeric.
    DataValueError
        At fit: a column has no value that is not null, or holds an infinity (column, file and row are named), or its
        range overflows float64.

    Notes
    -----
    ``(x - data_min) * ((max - min) / (data_max - data_min)) + min``, as MLlib computes it, unless rounding would miss
    `max`; then the upper half is ``(x - data_max) * ... + max``. So the smallest and the largest value of the fit
    become `min` and `max` to the bit, and none between them lies beyond. A null stays null. A value beyond those of the
    fit goes beyond the range, an infinity stays infinite: put :class:`Clip` behind (scikit-learn's ``clip=True``).

    A column that was constant at fit becomes the middle of the range wherever it is not null, as in MLlib;
    scikit-learn makes it `min`. So does one whose range is too small to divide by (below about 6e-309, to make a range
    of 1). Learned are ``data_min`` and ``data_max``, numbers by column.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [2, 6, None, 3]}))
    >>> ps.Pipeline(st.MinMaxScaler("x")).fit(data).transform(data).to_arrow()["x"].to_pylist()
    [0.0, 1.0, None, 0.25]
    """

    _: KW_ONLY
    min: float = field(default=0.0, metadata=in_range())
    max: float = field(default=1.0, metadata=in_range())

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.min < self.max and math.isfinite(float(self.max) - float(self.min))):
            raise ConfigError(
                f"min and max of MinMaxScaler are {self.min!r} and {self.max!r}, expected min below max, both finite",
                stage=self.title,
            )

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the extremes, and for what would spoil them."""
        return {**quality(self.inputs(), schema), "extremes": Extremes(self.inputs())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``data_min`` and ``data_max`` of each column."""
        check_quality(results)
        ends = {name: (float(each.min), float(each.max)) for name, each in results["extremes"].items()}
        for name, (low, high) in ends.items():
            check_range(name, low, high)
        return {
            "data_min": {name: low for name, (low, _) in ends.items()},
            "data_max": {name: high for name, (_, high) in ends.items()},
        }

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        return Fields({end: by_column(self.inputs(), Number()) for end in ("data_min", "data_max")})

    def affine(self, name: str, fitted: Fitted) -> Affine | TwoLines:
        """Return the line through both ends; for a constant column the middle."""
        low, high = fitted["data_min"][name], fitted["data_max"][name]
        if not ratio(self.max - self.min, high - low):
            return Affine(0.0, 0.0, self.min / 2 + self.max / 2)
        return between(low, high, float(self.min), float(self.max))
