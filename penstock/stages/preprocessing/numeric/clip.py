"""Values kept within bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.frames.blocks import fits_block
from penstock.stages.base import ColumnStage, Fitted, Tags
from penstock.stages.onnx_graph import OnnxGraph, Tensor, dtype_of
from penstock.stages.parameter_checks import in_range, is_finite_number
from penstock.stages.preprocessing.columns import by_block, clipped_value, integer_range, output_kinds


@dataclass(frozen=True)
class Clip(ColumnStage):
    """Replaces values below `lower` by `lower`, and values above `upper` by `upper`.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1).
    lower, upper : float or int, optional
        The bounds, finite; at least one, and `lower` not above `upper`.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        No bound, one that is not a finite number, or `lower` above `upper`.
    SchemaError
        Before reading: a column is missing or not numeric.

    Notes
    -----
    A column keeps its type where that holds both bounds: an integer one for whole bounds in its range (1.0 is whole), a
    floating one for bounds in its range, rounded to it. Any other column becomes float64; integers beyond 2**53 are
    rounded then. A null stays null; infinities become the bounds. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [-5, 7, None]}))
    >>> ps.Pipeline(st.Clip("x", lower=0)).fit(data).transform(data).to_arrow()["x"].to_pylist()
    [0, 7, None]
    """

    _: KW_ONLY
    lower: float | None = field(default=None, metadata=in_range())
    upper: float | None = field(default=None, metadata=in_range())

    tags: ClassVar[Tags] = Tags(accepts="numeric", lazy=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        bounds = [bound for bound in (self.lower, self.upper) if bound is not None]
        if not bounds or not all(map(is_finite_number, bounds)):
            raise ConfigError(
                f"lower and upper of Clip are {self.lower!r} and {self.upper!r}, expected at least one finite number",
                hint="Leave a bound out to have none on that side.",
                stage=self.title,
            )
        if bounds[0] > bounds[-1]:
            raise ConfigError(f"lower of Clip is {self.lower!r}, above upper, {self.upper!r}", stage=self.title)

    def output_type(self, kind: pa.DataType) -> pa.DataType:
        """Return `kind` where it holds the bounds, otherwise float64."""
        bounds = [bound for bound in (self.lower, self.upper) if bound is not None]
        return kind if all(_holds(kind, bound) for bound in bounds) else pa.float64()

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Clip all columns in one list of expressions."""
        if fits_block(frame, self.inputs()):
            return by_block(self, frame, lambda rows: rows.clip(self.lower, self.upper))
        dtypes = frames.dtypes(pa.schema(output_kinds(self, frame)))
        return frame.with_columns(*[self._clipped(name, dtypes[name]).alias(out) for name, out in self.pairs()])

    def _clipped(self, name: str, dtype: nw.dtypes.DType) -> nw.Expr:
        number: Any = int if dtype.is_integer() else float
        lower, upper = (None if bound is None else number(bound) for bound in (self.lower, self.upper))
        return nw.col(name).cast(dtype).clip(lower, upper)

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        graph.assign({out: self._within(graph, name) for name, out in self.pairs()})

    def _within(self, graph: OnnxGraph, name: str) -> Tensor:
        """Return the values, null where they are, in a graph in ONNX."""
        dtype, given = dtype_of(name, self.output_type(graph.schema.field(name).type)), graph.columns[name]
        whole = not given.is_floating and not dtype.startswith("float")
        value = graph.cast(given, "int64" if whole else "float64")
        for op, bound in (("Less", self.lower), ("Greater", self.upper)):
            if bound is not None:
                limit = graph.constant(np.array(bound, dtype), value.dtype)
                value = graph.where(graph.add(op, value, limit, dtype="bool"), limit, value)
        return graph.cast(value, "float64" if given.dtype == "float64" else dtype)

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Clip one value."""
        return clipped_value(self.output_type(kind), self.lower, self.upper)


def _holds(kind: pa.DataType, bound: float) -> bool:
    if pa.types.is_integer(kind):
        low, high = integer_range(kind)
        return bound == int(bound) and low <= bound <= high
    return pa.types.is_floating(kind) and math.isfinite(pa.scalar(float(bound), kind).as_py())
