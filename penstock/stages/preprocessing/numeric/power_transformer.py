"""Columns bent by a power until they are as close to a normal distribution as they can be."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.stages.base import ColumnStage, Fitted, Tags
from penstock.stages.constant_columns import constant_note
from penstock.stages.number_columns import values_of, with_results
from penstock.stages.parameter_checks import one_of
from penstock.stages.preprocessing.columns import check_values, refuse_broken
from penstock.stages.preprocessing.numeric._power_curve import PowerCurve, best_power
from penstock.stages.preprocessing.scaling.affine import ratio
from penstock.stages.shapes import Fields, Number, Shape, by_column
from penstock.statistics import Counts, Extreme, Extremes, Rule, Statistic
from penstock.statistics.cells import Cells
from penstock.statistics.log_cells import LogCells


@dataclass(frozen=True)
class PowerTransformer(ColumnStage):
    """Bends a column by the power, lambda, that makes it most like a normal distribution, and standardises it.

    =================== ======== ================================================== ===============================
    ``method``          takes    x of 0 or more, or any x for ``box-cox``           x below 0
    =================== ======== ================================================== ===============================
    ``"yeo-johnson"``   all      ``((x + 1)**lambda - 1) / lambda``, ``log(1 + x)`` ``-((1 - x)**(2 - lambda) - 1) /
                        numbers  for a lambda of 0                                  (2 - lambda)``, ``-log(1 - x)``
                                                                                    for a lambda of 2
    ``"box-cox"``       x > 0    ``(x**lambda - 1) / lambda``, ``log(x)`` for 0
    =================== ======== ================================================== ===============================

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    method : {"yeo-johnson", "box-cox"}, default="yeo-johnson"
    standardize : bool, default=True
        Subtract the mean of what comes out, and divide by its standard deviation with n in the denominator, as
        scikit-learn does.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        A parameter is wrong.
    SchemaError
        At fit, before reading: a column is missing or not numeric.
    DataValueError
        At fit: a column has no value that is not null, or holds an infinity or a number beyond 1e150. When it runs:
        numbers so far from those of the fit that float64 does not hold what becomes of them. With ``box-cox``, both
        times: numbers of 0 or less. Column, count, first file and row are named.

    Notes
    -----
    Lambda is where the likelihood is largest, in the interval in which nothing that comes of the fit is beyond about
    1e150; where it grows up to an end of the interval, that end. All lambdas are tried on one scan: it gathers how many
    rows there are, and their mean, in each of up to 16,384 cells of ``log(1 + |x|)``, or ``log(x)``. Up to as many
    different values lambda is exact to rounding. Beyond, it is right to about 1e-7 (of 400,000 gamma, lognormal, t and
    zero-inflated values it differed by 5e-8 at most from SciPy's, which comes of a search that scans the data some
    twenty times and is no closer than that), and so are the mean and the deviation.

    What is standardised is reckoned from the value of the fit that is nearest to 0, and not from 0: years, or prices
    that hardly differ, keep their digits, and lambdas in the hundreds do not overflow. A null stays null and takes no
    part. A column that was constant at fit has a lambda of 1, as in scikit-learn, and if standardised becomes 0.0. An
    infinity that comes after the fit becomes infinite, or the limit of its curve.

    Learned are, by column, ``lambdas`` and ``origin``, and if standardised ``mean`` and ``scale``, those of
    ``(y(x) - y(origin)) / y'(origin) / (1 + |origin|)`` (for ``box-cox`` the last is ``origin``), y being the curve.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1.0, 10.0, 100.0, None]}))
    >>> model = ps.Pipeline(st.PowerTransformer("x", method="box-cox")).fit(data)
    >>> [None if z is None else round(z, 6) for z in model.transform(data).to_arrow()["x"].to_pylist()]
    [-1.224745, 0.0, 1.224745, None]
    """

    _: KW_ONLY
    method: str = field(default="yeo-johnson", metadata=one_of("yeo-johnson", "box-cox"))
    standardize: bool = True

    made_type: ClassVar[pa.DataType | None] = pa.float64()
    tags: ClassVar[Tags] = Tags(accepts="numeric")

    @property
    def _signed(self) -> bool:
        return self.method == "yeo-johnson"

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask where logarithms lie, and for extremes: they are the ends to be kept in, and tell a constant column."""
        columns = self.inputs()
        return {
            "counts": Counts(columns),
            "extremes": Extremes(columns),
            "cells": LogCells(columns, signed=self._signed),
        }

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``lambdas`` and ``origin`` of each column, and ``mean`` and ``scale``."""
        check_values(results["counts"])
        found = {name: self._learned(results["cells"][name], results["extremes"][name]) for name in self.inputs()}
        return {
            key: {name: learned[key] for name, learned in found.items()}
            for key in ("lambdas", "origin", *(("mean", "scale") if self.standardize else ()))
        }

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        keys = ("lambdas", "origin", *(("mean", "scale") if self.standardize else ()))
        return Fields({key: by_column(self.inputs(), Number()) for key in keys})

    def _learned(self, cells: Cells, extreme: Extreme) -> dict[str, float]:
        values = cells.sums["value"] / cells.sums["rows"]
        weight = cells.sums["rows"] / cells.sums["rows"].sum()
        ends = float(extreme.min), float(extreme.max)
        power = best_power(values, weight, ends, signed=self._signed, moved=self.standardize)
        found = {"lambdas": power.exponent, "origin": power.origin}
        if not self.standardize:
            return found
        if ends[0] == ends[1]:
            return {**found, "mean": 0.0, "scale": 0.0}
        bent = power(values)
        mean = float(weight @ bent)
        return {**found, "mean": mean, "scale": float(np.sqrt(weight @ (bent - mean) ** 2))}

    def notes(self, fitted: Fitted) -> list[str]:
        constant = (name for name, scale in fitted.get("scale", {}).items() if not scale)
        return constant_note(constant, "every value becomes 0.0")

    def _curve(self, name: str, fitted: Fitted) -> Callable[[Any], Any]:
        """Return what becomes of float64 values, NumPy or CuPy."""
        power = PowerCurve(fitted["lambdas"][name], fitted["origin"][name], self._signed)
        if not self.standardize:
            return power
        mean, factor = fitted["mean"][name], ratio(1.0, fitted["scale"][name])

        def curve(values: Any) -> Any:
            if factor:
                return (power(values) - mean) * factor
            return np.where(np.isnan(values), values, 0.0)

        return curve

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Bend column by column, then put all columns in at once."""
        self._check_positive(frame)
        made = {}
        for name, out in self.pairs():
            values = values_of(frame, name)
            made[out] = self._curve(name, fitted)(values)
            _check_held(name, values, made[out])
        return with_results(frame, made)

    def _check_positive(self, frame: nw.DataFrame) -> None:
        if not self._signed:
            refuse_broken(frame, Rule("not_positive"), self.inputs())

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Bend one value."""
        curve = self._curve(name, fitted)

        def bent(value: Any) -> float | None:
            if value is None:
                return None
            if value <= 0 and not self._signed:
                raise Rule("not_positive").error(name, 1)
            values = np.array([value], dtype=np.float64)
            made = curve(values)
            _check_held(name, values, made)
            return float(made[0])

        return bent


def _check_held(name: str, values: Any, bent: Any) -> None:
    """Raise DataValueError where a finite value becomes infinite: it, and all that is further out, is too far."""
    lost = np.isinf(bent) & ~np.isinf(values)
    if not lost.any():
        return
    above, below = (values[lost & side] for side in (bent > 0, bent < 0))
    least = float(above.min()) if len(above) else math.inf
    most = float(below.max()) if len(below) else -math.inf
    value = nw.col(name).cast(nw.Float64)
    raise DataValueError(
        f"column {name!r} has {int(lost.sum())} values so far from those of the fit that float64 does not hold what"
        " becomes of them",
        hint="Put Clip before this step, or filter these rows.",
        column=name,
        predicate=(value >= least) | (value <= most),
    )
