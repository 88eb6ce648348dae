"""Missing values replaced by one far out, where no other value is likely to be."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.stages.base import Fitted, Tags
from penstock.stages.parameter_checks import in_range, one_of
from penstock.stages.preprocessing.missing._filling import FillingStage
from penstock.stages.preprocessing.numeric.outliers import Spread, between
from penstock.stages.preprocessing.scaling.affine import check_quality, quality
from penstock.stages.shapes import Fields, Number, Shape, by_column
from penstock.statistics import Counts, Extremes, Moments, Quantiles, Statistic


@dataclass(frozen=True)
class EndTailImputer(FillingStage):
    """Replaces nulls by a value at the end of a tail of their column, as feature-engine's ``EndTailImputer``.

    A model can then tell them from other values, which the mean or the median would hide them among.

    ============== ============================================== ==============================================
    method         right tail                                     left tail
    ============== ============================================== ==============================================
    ``gaussian``   mean + fold * standard deviation               mean - fold * standard deviation
    ``iqr``        third quartile + fold * range of the quartiles first quartile - fold * range of the quartiles
    ``max``        largest value * fold
    ============== ============================================== ==============================================

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    imputation_method : {"gaussian", "iqr", "max"}, default="gaussian"
        How the value is found.
    tail : {"right", "left"}, default="right"
        At which end; ``max`` has no left one.
    fold : float, default=3
        How far out, above 0.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        A parameter is wrong.
    SchemaError
        At fit, before reading: a column is missing or not numeric.
    DataValueError
        At fit: a column is null in every row, or holds an infinity (column, file and row are named); for ``gaussian``
        also one that is so large that the squares overflow.

    Notes
    -----
    A floating column keeps its type, any other becomes float64; a value beyond what the type holds is its largest
    number. The standard deviation has n - 1 in the denominator, as feature-engine's, and is 0 for a single value.
    Quartiles are values of the data (NumPy's ``inverted_cdf``), where feature-engine interpolates between two, and as
    exact as :class:`~penstock.statistics.Quantiles`. By ``max`` the value is no larger than the others where none of
    them is above 0. Learned are ``values``, by column.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1, 2, 3, None]}))
    >>> ps.Pipeline(st.EndTailImputer("x")).fit(data).transform(data).to_arrow()["x"].to_pylist()
    [1.0, 2.0, 3.0, 5.0]
    """

    _: KW_ONLY
    imputation_method: str = field(default="gaussian", metadata=one_of("gaussian", "iqr", "max"))
    tail: str = field(default="right", metadata=one_of("right", "left"))
    fold: float = field(default=3.0, metadata=in_range(above=0, most=sys.float_info.max))

    tags: ClassVar[Tags] = Tags(accepts="numeric", lazy=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.imputation_method == "max" and self.tail == "left":
            raise ConfigError(
                f"tail of {self.title} is 'left', which imputation_method 'max' does not have",
                hint='Leave it out, or pass imputation_method="gaussian" or "iqr".',
                stage=self.title,
            )

    def output_type(self, kind: pa.DataType) -> pa.DataType:
        """Return `kind` where it is floating, otherwise float64."""
        return kind if pa.types.is_floating(kind) else pa.float64()

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for what the method needs."""
        columns = self.inputs()
        if self.imputation_method == "gaussian":
            return {"counts": Counts(columns), "moments": Moments(columns)}
        values = Quantiles(columns) if self.imputation_method == "iqr" else Extremes(columns)
        return {**quality(columns, schema), "values": values}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``values``, what is put in by column."""
        check_quality(results)
        return {"values": {name: self._end(name, results) for name in self.inputs()}}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        return Fields({"values": by_column(self.inputs(), Number())})

    def _end(self, name: str, results: Mapping[str, Any]) -> float:
        if self.imputation_method == "max":
            largest = float(results["values"][name].max)
            return Spread(0.0, 0.0, largest).bounds(self.fold)[1]
        if self.imputation_method == "gaussian":
            moment = results["moments"][name]
            spread = Spread(moment.mean, moment.mean, moment.std(ddof=1) or 0.0)
        else:
            spread = between(results["values"][name], 0.25, 0.75)
        return spread.bounds(self.fold)[self.tail == "right"]

    def fill(self, name: str, kind: pa.DataType, fitted: Fitted) -> float:
        """Return the value of a column within what its type holds."""
        largest, value = float(np.finfo(kind.to_pandas_dtype()).max), float(fitted["values"][name])
        return max(-largest, min(value, largest))
