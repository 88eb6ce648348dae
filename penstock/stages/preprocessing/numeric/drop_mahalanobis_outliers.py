"""Rows left out that are far from all others, their columns taken together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import narwhals as nw
import numpy as np

from penstock import frames
from penstock.core.names import hidden_name
from penstock.dataset.steps import RowLog
from penstock.frames import matrices
from penstock.stages.base import Fitted, SelectedColumns, Tags
from penstock.stages.preprocessing._dropping import FilterStage, drop_rows
from penstock.stages.preprocessing.numeric._elliptic import EllipticStage

_OUTSIDE = hidden_name("outside")


@dataclass(frozen=True)
class DropMahalanobisOutliers(EllipticStage, SelectedColumns, FilterStage):
    """Drops the rows whose Mahalanobis distance from the mean is beyond a quantile of the chi-square distribution.

    The distances are those of :class:`MahalanobisDistance`, which adds them, and keeps these rows.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1), at most 5,000.
    quantile, shrinkage
        As those of :class:`MahalanobisDistance`: of normal columns, the share of rows beyond it is ``1 - quantile``.

    Raises
    ------
    ConfigError
        A parameter is wrong.
    SchemaError
        At fit, before reading: a column is missing or not numeric.
    DataValueError
        At fit, where :class:`MahalanobisDistance` raises it.

    Notes
    -----
    A row with a null is no outlier, and stays; one with an infinity that comes after the fit is one. The rows are
    counted in the report. They are dropped wherever rows pass through, also when a model scores. Statistics of later
    stages are gathered from the rows that are left. Learned are ``mean`` and ``covariance``.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> engine = ps.LocalEngine(device="cpu")
    >>> data = engine.from_arrow(pa.table({"x": [0.0, 1.0, 2.0, 3.0], "y": [0.1, 0.9, 2.1, 2.9]}))
    >>> model = ps.Pipeline(st.DropMahalanobisOutliers(["x", "y"])).fit(data)
    >>> model.transform(engine.from_arrow(pa.table({"x": [2.0, 2.0], "y": [2.0, 0.0]}))).to_arrow()["y"].to_pylist()
    [2.0]
    """

    tags: ClassVar[Tags] = Tags(accepts="numeric", keeps_rows=False)

    def filter(self, frame: nw.DataFrame, fitted: Fitted, log: RowLog) -> nw.DataFrame:
        """Return the rows without outliers, and count the others."""
        columns = matrices.to_rows(frame, self.inputs(), narrow=True)
        distances, missing = self.distances(columns, fitted, frames.kind_of(frame))
        outside = ~(np.isfinite(distances) & (distances <= self.limit)) & ~missing
        marked = frame.with_columns(matrices.column(frame, _OUTSIDE, outside))
        reason = f"{', '.join(self.inputs()[:10])} together are an outlier"
        return drop_rows(marked, {reason: nw.col(_OUTSIDE)}, log).drop(_OUTSIDE)
