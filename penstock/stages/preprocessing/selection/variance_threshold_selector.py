"""Columns that hardly vary, left out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import pyarrow as pa

from penstock.core.selectors import Columns, numeric
from penstock.stages.base import Fitted
from penstock.stages.parameter_checks import in_range
from penstock.stages.preprocessing.selection.feature_selector import FeatureSelector
from penstock.stages.shapes import Fields, Maybe, Number, Shape, by_column
from penstock.statistics import Extreme, Extremes, Moment, Moments, Statistic


@dataclass(frozen=True)
class VarianceThresholdSelector(FeatureSelector):
    """Leaves out the columns whose variance is not above a threshold; 0 leaves out those that are constant.

    Parameters
    ----------
    columns : str, sequence of str, or Selector, optional
        Columns of numbers or booleans (0 and 1) to choose from; every such column, a label too, unless given.
    variance_threshold : float, default=0.0
        A column stays if its sample variance, with n - 1 in the denominator as in MLlib, is larger. scikit-learn's
        ``VarianceThreshold`` has n there.

    Raises
    ------
    ConfigError
        The threshold is negative, or there is no such column.
    SchemaError
        At fit, before reading: a column is missing or not numeric, or a later stage names one that was left out.
    DataValueError
        At fit: a column holds an infinity, or numbers whose squares overflow; column, count, file and row are named.

    Notes
    -----
    Nulls take no part. A column that has no two values, as one that is null in every row, has no variance and is left
    out. A constant column has variance 0 exactly, though sums of its squares be rounded. Learned are ``variances``, a
    number by column, or None.

    As every selector, it is not applied to rows: the columns left out are just not read, and data to be scored may lack
    them, unless a stage before the selector reads them. Stages after it are bound to the columns that are left.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> from penstock.core.selectors import numeric
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1, 3, 5], "y": [2, 2, 2]}))
    >>> model = ps.Pipeline(st.VarianceThresholdSelector(), st.StandardScaler(numeric())).fit(data)
    >>> model.transform(data).columns, model.fitted[0]
    (['x'], {'variances': {'x': 4.0, 'y': 0.0}})
    """

    columns: Columns | None = None  # type: ignore[assignment]
    variance_threshold: float = field(default=0.0, metadata=in_range(least=0))

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns and check that they are numeric."""
        if self.columns is None:
            return dataclasses.replace(self, columns=numeric()).bind(schema)
        return super().bind(schema)

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for moments, and for extremes: only they tell a constant column from one that hardly varies."""
        return {"moments": Moments(self.doubtful()), "extremes": Extremes(self.doubtful())}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``variances`` by column."""
        moments, extremes = results["moments"], results["extremes"]
        return {"variances": {name: _variance(moments[name], extremes[name]) for name in self.doubtful()}}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        return Fields({"variances": by_column(self.doubtful(), Maybe(Number()))})

    def left_out(self, fitted: Fitted) -> Mapping[str, str]:
        """Return the columns whose variance is not above the threshold."""
        low = {name: variance for name, variance in fitted["variances"].items() if not self._stays(variance)}
        return {name: self._reason(variance) for name, variance in low.items()}

    def _stays(self, variance: float | None) -> bool:
        return variance is not None and variance > self.variance_threshold

    def _reason(self, variance: float | None) -> str:
        if variance is None:
            return "it has no two values"
        return f"its variance is {variance!r}, and not above {self.variance_threshold!r}"


def _variance(moment: Moment, extreme: Extreme) -> float | None:
    variance = moment.variance(ddof=1)
    return 0.0 if variance is not None and extreme.min == extreme.max else variance
