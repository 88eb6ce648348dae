"""Hours, weekdays and other numbers that come round, as points of a circle."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.stages.base import Fitted, RowFunction
from penstock.stages.number_columns import values_of, with_results
from penstock.stages.parameter_checks import wrong_parameter
from penstock.stages.preprocessing._added import AddedColumns
from penstock.stages.preprocessing.columns import finite, refuse_broken
from penstock.stages.preprocessing.per_column import per_column
from penstock.statistics.rules import Rule

_PERIODS = {"second": 60, "minute": 60, "hour": 24, "weekday": 7, "day": 31, "ordinal_day": 365.25, "month": 12}


@dataclass(frozen=True)
class CyclicalEncoder(AddedColumns):
    """Adds ``<column>_sin`` and ``<column>_cos`` (float64): sine and cosine of ``2 * pi * x / period``.

    Numbers that are close on the circle get points that are close, so that hour 23 is next to hour 0; feature-engine's
    ``CyclicalFeatures`` gives the same. Parts of dates come from :class:`~penstock.stages.DateParts`.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1); they stay.
    period : float, str, or sequence of them
        After which the numbers begin anew, above 0: for all columns, or one for each. A name is that of a part of
        :class:`~penstock.stages.DateParts`: ``second`` and ``minute`` have 60, ``hour`` 24, ``weekday`` 7, ``day`` 31,
        ``ordinal_day`` 365.25 and ``month`` 12.

    Raises
    ------
    ConfigError
        A period is not known or not above 0, there are not as many as columns, or the data has a column of such a name.
    SchemaError
        Before reading: a column is missing or not numeric.
    DataValueError
        When it runs: an infinity, which is nowhere on a circle; column, count, first file and row are named.

    Notes
    -----
    A null gives two nulls. Whole periods are taken off first, and exactly, so that large numbers lose nothing. Nothing
    is learned; feature-engine takes the largest number at fit for the period unless told.

    Examples
    --------
    >>> import datetime, penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"at": [datetime.datetime(2024, 2, 29, hour) for hour in (0, 6)]}))
    >>> pipeline = ps.Pipeline(st.DateParts("at", parts=("hour",)), st.CyclicalEncoder("at_hour", period="hour"))
    >>> pipeline.fit(data).transform(data).to_arrow()["at_hour_sin"].to_pylist()
    [0.0, 1.0]
    """

    _: KW_ONLY
    period: float | str | Sequence[float | str]

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.period, list):
            object.__setattr__(self, "period", tuple(self.period))
        periods = self.period if isinstance(self.period, tuple) else (self.period,)
        if not periods or not all(_is_period(each) for each in periods):
            expected = f"a finite number above 0 or one of {', '.join(_PERIODS)}, or one for each column"
            raise wrong_parameter(self, "period", expected)

    def check_count(self) -> None:
        """Raise ConfigError unless there is a period for each column."""
        per_column(self, "period")

    def outputs(self) -> tuple[str, ...]:
        """Return sine and cosine of each column."""
        return tuple(f"{name}_{function}" for name in self.inputs() for function in ("sin", "cos"))

    def _periods(self) -> dict[str, float]:
        return {
            name: float(_PERIODS[each] if isinstance(each, str) else each)
            for name, each in per_column(self, "period").items()
        }

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Check the values of all columns in one select, then compute."""
        refuse_broken(frame, Rule("infinite"), self.inputs())
        points = [part for name, period in self._periods().items() for part in _point(values_of(frame, name), period)]
        return with_results(frame, dict(zip(self.outputs(), points, strict=True)))

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Compute one row."""
        periods, outputs = self._periods(), self.outputs()

        def call(row: dict[str, Any]) -> None:
            values = {name: finite(name, row[name]) for name in periods}
            points = [part for name, period in periods.items() for part in _single(values[name], period)]
            row.update(zip(outputs, points, strict=True))

        return call


def _is_period(value: Any) -> bool:
    if isinstance(value, str):
        return value in _PERIODS
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= sys.float_info.max


def _point(values: Any, period: float) -> tuple[Any, Any]:
    """Return sine and cosine of an array or of one number, equal to the bit."""
    angles = np.fmod(values, period) / period * math.tau
    return np.sin(angles), np.cos(angles)


def _single(value: float | None, period: float) -> tuple[float | None, float | None]:
    if value is None:
        return None, None
    sine, cosine = _point(value, period)
    return float(sine), float(cosine)
