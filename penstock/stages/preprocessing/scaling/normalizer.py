"""Rows scaled to length one."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.frames import matrices
from penstock.stages.base import ColumnStage, Fitted, RowFunction, Tags, check_choice, check_number
from penstock.stages.number_columns import values_of
from penstock.stages.onnx_graph import OnnxGraph, Tensor
from penstock.stages.preprocessing.columns import finite, refuse_broken
from penstock.statistics.rules import Rule

_WORDS = {1: "l1", 2: "l2", math.inf: "max"}


@dataclass(frozen=True)
class Normalizer(ColumnStage):
    """Divides the values of each row by the norm of the row over all its columns, in float64.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1), which together are a vector per row.
    norm : {"l2", "l1", "max"} or float, default="l2"
        The root of the sum of squares, the sum of absolute values, or the largest of them. A number is MLlib's ``p``,
        at least 1: the p-th root of the sum of absolute values to the power p. Of 2, 1 and infinity the words are kept.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        `norm` is not known, or a number below 1.
    SchemaError
        Before reading: a column is missing or not numeric.
    DataValueError
        When it runs: an infinity, whose row has no norm; column, count, first file and row are named.

    Notes
    -----
    A null stays null and adds nothing to the norm of its row. A row of zeros stays as it is, as in MLlib and
    scikit-learn. Values are divided by the largest of their row first, so that no square overflows or vanishes; rows
    have length one up to rounding however large or small they are. Nothing is learned.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [3, 0, None], "y": [4, 0, -2]}))
    >>> ps.Pipeline(st.Normalizer(["x", "y"], norm="l1")).fit(data).transform(data).to_polars().rows()
    [(0.42857142857142855, 0.5714285714285714), (0.0, 0.0), (None, -1.0)]
    """

    _: KW_ONLY
    norm: str | float = "l2"

    made_type: ClassVar[pa.DataType | None] = pa.float64()
    tags: ClassVar[Tags] = Tags(accepts="numeric", vectors=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.norm, bool) or not isinstance(self.norm, int | float):
            check_choice(self, "norm", ("l2", "l1", "max"))
        elif self.norm in _WORDS:
            object.__setattr__(self, "norm", _WORDS[self.norm])
        else:
            check_number(self, "norm", least=1, most=sys.float_info.max)

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Divide by the largest value of each row, then by the norm of what that gives."""
        numbers = frame.select(*[nw.col(name).cast(nw.Float64).alias(out) for name, out in self.pairs()])
        largest = _divisor(numbers, nw.max_horizontal(*[nw.col(out).abs() for out in numbers.columns]))
        if len(frame) and largest.max() == math.inf:
            refuse_broken(frame, Rule("infinite"), self.inputs())
        shares = numbers.select(*[nw.col(out) / largest for out in numbers.columns])
        if self.norm != "max":
            norm = self._norms(shares.select(nw.all().fill_null(0.0).abs()))
            shares = shares.select(*[nw.col(out) / norm for out in shares.columns])
        return frame.with_columns(*[shares[out] for out in shares.columns])

    def _norms(self, sizes: nw.DataFrame) -> nw.Series:
        """Return the norm of each row of numbers of at most 1, none negative; 1 of a row of zeros."""
        if isinstance(self.norm, str):
            return _divisor(sizes, self._norm([nw.col(name) for name in sizes.columns], nw.Expr.sqrt))
        norms = _power_norm([values_of(sizes, name) for name in sizes.columns], self.norm)
        return _divisor(matrices.column(sizes, "norm", norms).to_frame(), nw.col("norm"))

    def _norm(self, sizes: list[Any], root: Callable[[Any], Any]) -> Any:
        """Return the norm, l1 or l2, of numbers or expressions."""
        return _pairwise_sum(sizes) if self.norm == "l1" else root(_pairwise_sum([size * size for size in sizes]))

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        rows = graph.numbers(self.inputs())
        known = graph.where(graph.add("IsNaN", rows, dtype="bool"), graph.constant(0.0), rows)
        sizes = graph.add("Abs", known)
        for norm in ("max", self.norm) if self.norm != "max" else ("max",):
            length = _or_one(graph, _length(graph, sizes, norm))
            rows, sizes = graph.add("Div", rows, length), graph.add("Div", sizes, length)
        graph.assign({out: graph.part(rows, place) for place, out in enumerate(self.outputs())})

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Scale one row."""
        names, outputs = self.inputs(), self.outputs()

        def call(row: dict[str, Any]) -> None:
            row.update(zip(outputs, self._scaled([finite(name, row[name]) for name in names]), strict=True))

        return call

    def _scaled(self, values: list[float | None]) -> list[float | None]:
        largest = max(abs(value or 0.0) for value in values) or 1.0
        shares = _divided(values, largest)
        if self.norm == "max":
            return shares
        sizes = [abs(share or 0.0) for share in shares]
        norm = self._norm(sizes, math.sqrt) if isinstance(self.norm, str) else float(_power_norm(sizes, self.norm))
        return _divided(shares, norm or 1.0)


def _length(graph: OnnxGraph, sizes: Tensor, norm: str | float) -> Tensor:
    if norm == "max":
        return graph.sum(sizes, "ReduceMax")
    power = {"l1": 1.0, "l2": 2.0}[norm] if isinstance(norm, str) else norm
    total = graph.sum(graph.add("Pow", sizes, graph.constant(power)))
    return graph.add("Pow", total, graph.constant(1 / power))


def _or_one(graph: OnnxGraph, length: Tensor) -> Tensor:
    above = graph.add("Greater", length, graph.constant(0.0), dtype="bool")
    return graph.where(above, length, graph.constant(1.0))


def _divisor(frame: nw.DataFrame, expression: nw.Expr) -> nw.Series:
    """Return one number a row, and 1 where it is zero or null."""
    found = frame.select(expression.alias("by"))
    return found.select(nw.when(nw.col("by") > 0).then(nw.col("by")).otherwise(nw.lit(1.0)))["by"]


def _divided(values: list[float | None], by: float) -> list[float | None]:
    return [None if value is None else value / by for value in values]


def _power_norm(sizes: list[Any], power: float) -> Any:
    """Return the norm of numbers or arrays: both by NumPy, and so equal to the bit."""
    return np.power(_pairwise_sum([np.power(size, power) for size in sizes]), 1 / power)


def _pairwise_sum(terms: Sequence[Any]) -> Any:
    """Add up neighbours, then their sums, and so on: one order for expressions and numbers, and no deep nesting."""
    while len(terms) > 1:
        pairs = [left + right for left, right in zip(terms[::2], terms[1::2], strict=False)]
        terms = [*pairs, *terms[2 * len(pairs) :]]
    return terms[0]
