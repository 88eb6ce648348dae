"""Rows with outliers left out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import ClassVar

import narwhals as nw

from penstock.dataset.steps import RowLog
from penstock.stages.base import Fitted, SelectedColumns, Tags
from penstock.stages.preprocessing._dropping import FilterStage, drop_rows
from penstock.stages.preprocessing.numeric.outliers import OutlierStage


@dataclass(frozen=True)
class DropOutliers(OutlierStage, SelectedColumns, FilterStage):
    """Drops the rows with a value beyond a bound learned at fit, as feature-engine's ``OutlierTrimmer``.

    The bounds are those of :class:`~penstock.stages.Winsorizer`, which keeps these rows and changes the values.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    capping_method, tail, fold
        As those of :class:`~penstock.stages.Winsorizer`.

    Raises
    ------
    ConfigError
        A parameter is wrong.
    SchemaError
        At fit, before reading: a column is missing or not numeric.
    DataValueError
        At fit, where :class:`~penstock.stages.Winsorizer` raises it.

    Notes
    -----
    A null is no outlier, and keeps its row; an infinity that comes after the fit is one. The rows are counted in the
    report, by the first of the columns in which they have an outlier. They are dropped wherever rows pass through, also
    when a model scores: use :class:`~penstock.stages.Winsorizer` where every row needs a prediction. Statistics of
    later stages are gathered from the rows that are left. Learned are ``lower`` and ``upper``, numbers by column.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1, 2, 3, 4, 1000, None]}))
    >>> model = ps.Pipeline(st.DropOutliers("x", capping_method="iqr", tail="both")).fit(data)
    >>> model.fitted[0], model.transform(data).to_arrow()["x"].to_pylist()
    ({'lower': {'x': -1.0}, 'upper': {'x': 7.0}}, [1, 2, 3, 4, None])
    """

    tags: ClassVar[Tags] = Tags(accepts="numeric", keeps_rows=False)

    def filter(self, frame: nw.DataFrame, fitted: Fitted, log: RowLog) -> nw.DataFrame:
        """Return the rows without outliers, and count the others."""
        return drop_rows(frame, {f"{name} is an outlier": _outside(name, fitted) for name in self.inputs()}, log)


def _outside(name: str, fitted: Fitted) -> nw.Expr:
    value = nw.col(name).cast(nw.Float64)
    lower, upper = (fitted[side].get(name) for side in ("lower", "upper"))
    outside = [value < lower] if lower is not None else []
    outside += [value > upper] if upper is not None else []
    return reduce(or_, outside)
