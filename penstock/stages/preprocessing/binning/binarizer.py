"""Numbers told apart by a threshold."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock.stages.base import ColumnStage, Fitted, Tags
from penstock.stages.onnx_graph import OnnxGraph
from penstock.stages.parameter_checks import is_finite_number, wrong_parameter
from penstock.stages.preprocessing.per_column import per_column


@dataclass(frozen=True)
class Binarizer(ColumnStage):
    """Replaces values above a threshold by 1.0, and values up to it, itself included, by 0.0.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    threshold : float or sequence of float, default=0.0
        The threshold, finite: one for all columns or, as MLlib's ``thresholds``, one for each.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        A threshold is not a finite number, or there are not as many as columns.
    SchemaError
        Before reading: a column is missing or not numeric.

    Notes
    -----
    Values are compared in float64, where integers beyond 2**53 are rounded. The result is float64, as MLlib's. A null
    stays null; infinities are above and below everything. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1, 2, 3, None]}))
    >>> ps.Pipeline(st.Binarizer("x", threshold=2)).fit(data).transform(data).to_arrow()["x"].to_pylist()
    [0.0, 0.0, 1.0, None]
    """

    _: KW_ONLY
    threshold: float | Sequence[float] = 0.0

    made_type: ClassVar[pa.DataType | None] = pa.float64()
    tags: ClassVar[Tags] = Tags(accepts="numeric", lazy=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        several = isinstance(self.threshold, Sequence) and not isinstance(self.threshold, str)
        given = tuple(self.threshold) if several else (self.threshold,)  # type: ignore[arg-type]
        if not given or not all(map(is_finite_number, given)):
            raise wrong_parameter(self, "threshold", "a finite number or one for each column")
        if several:
            object.__setattr__(self, "threshold", given)

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns; there must be a threshold for each."""
        bound = super().bind(schema)
        bound._thresholds()
        return bound

    def _thresholds(self) -> dict[str, float]:
        return {name: float(each) for name, each in per_column(self, "threshold").items()}

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Compare all columns in one list of expressions."""
        limits = self._thresholds()
        above = {out: nw.col(name).cast(nw.Float64) > limits[name] for name, out in self.pairs()}
        return frame.with_columns(*[each.cast(nw.Float64).alias(out) for out, each in above.items()])

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        limits, made = self._thresholds(), {}
        for name, out in self.pairs():
            above = graph.add("Greater", graph.number(name), graph.constant(limits[name]), dtype="bool")
            found = graph.cast(above, "float64")
            made[out] = graph.where(graph.missing(name), graph.constant(math.nan), found)
        graph.assign(made)

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Compare one value."""
        limit = self._thresholds()[name]
        return lambda value: None if value is None else float(float(value) > limit)
