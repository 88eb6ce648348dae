"""Logarithms of counts and amounts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.errors import DataValueError
from penstock.stages.base import ColumnStage, Fitted, Tags
from penstock.statistics.aggregates import aggregate


@dataclass(frozen=True)
class Log1p(ColumnStage):
    """Replaces x by ``log(1 + x)``, the natural logarithm, in float64 and exact to rounding also for small x.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    SchemaError
        Before reading: a column is missing or not numeric.
    DataValueError
        When it runs: values of -1 or less, which have no logarithm; column, count, first file and row are named.

    Notes
    -----
    A null stays null, and infinity stays infinity. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [0.0, 1e-20, None]}))
    >>> ps.Pipeline(st.Log1p("x")).fit(data).transform(data).to_arrow()["x"].to_pylist()
    [0.0, 1e-20, None]
    """

    tags: ClassVar[Tags] = Tags(accepts="numeric")

    def output_type(self, kind: pa.DataType) -> pa.DataType:
        """Return float64."""
        return pa.float64()

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Check the range of all columns in one select, then take logarithms in another."""
        _check_range(frame, self.inputs())
        return frames.log1p(frame, dict(self.pairs()))

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Take the logarithm of one value."""

        def log1p(value: Any) -> float | None:
            if value is None:
                return None
            if value <= -1:
                raise _error(name, 1)
            return math.log1p(value)

        return log1p


def _too_small(name: str) -> nw.Expr:
    return nw.col(name).cast(nw.Float64) <= -1


def _check_range(frame: nw.DataFrame, columns: tuple[str, ...]) -> None:
    counts = aggregate(frame, {name: _too_small(name).sum() for name in columns})
    for name, count in counts.items():
        if count:
            raise _error(name, count)


def _error(name: str, count: int) -> DataValueError:
    error = DataValueError(
        f"column {name!r} has {count} values of -1 or less, which have no log(1 + x)",
        hint=f"Put Clip({name!r}, lower=0) before this step, or filter these rows.",
        column=name,
    )
    error.predicate = _too_small(name)
    return error
