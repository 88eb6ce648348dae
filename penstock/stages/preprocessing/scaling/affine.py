"""What scalers share: one line through the values of a column, as an expression and as a function of one value."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.frames.blocks import device_parameters, fits_block
from penstock.stages.base import ColumnStage, Fitted, Tags
from penstock.stages.constant_columns import constant_note
from penstock.stages.onnx_graph import OnnxGraph, Tensor
from penstock.stages.preprocessing.columns import by_block, check_finite, check_values
from penstock.statistics import Counts, Statistic, Violations

_FIRST = (1.0, 0.75, 2.0**-64, 0.75 * 2.0**-64, 2.0**64, 0.75 * 2.0**64)
"""Multiplied by first; also what is so large that its inverse is not exact, or so small that it has none."""


@dataclass(frozen=True)
class Affine:
    """Makes ``(x - shift) * first * factor + offset``, in float64; expression and function agree to the bit.

    With ``factor`` 0 every value becomes ``offset``, an infinity too; null stays null.

    Examples
    --------
    >>> Affine(shift=1.0, factor=0.5, offset=10.0)(5), Affine(factor=0.0)(math.inf), Affine()(None)
    (12.0, 0.0, None)
    """

    shift: float = 0.0
    factor: float = 1.0
    offset: float = 0.0
    first: float = 1.0

    def _along(self, value: Any) -> Any:
        """Return the point of the line, of a number or of an expression."""
        moved = value - self.shift if self.shift else value
        scaled = (moved * self.first if self.first != 1.0 else moved) * self.factor
        return scaled + self.offset if self.offset else scaled

    def expression(self, name: str) -> nw.Expr:
        """Return the line through column `name`."""
        value = nw.col(name).cast(nw.Float64)
        if not self.factor:
            return nw.when(~value.is_null()).then(nw.lit(self.offset))  # not times 0, which makes NaN of an infinity
        return self._along(value)

    def nodes(self, graph: OnnxGraph, name: str) -> Tensor:
        """Return the line through column `name` of a graph in ONNX."""
        value = graph.number(name)
        if not self.factor:
            flat = graph.constant(self.offset)
            return graph.where(graph.missing(name), graph.constant(math.nan), flat)
        multiplied = (("Mul", self.first, 1.0), ("Mul", self.factor, 1.0))
        for op, number, nothing in (("Sub", self.shift, 0.0), *multiplied, ("Add", self.offset, 0.0)):
            value = value if number == nothing else graph.add(op, value, graph.constant(number))
        return value

    def __call__(self, value: Any) -> float | None:
        """Return the point of the line at one value."""
        if value is None:
            return None
        return self._along(float(value)) if self.factor else self.offset


@dataclass(frozen=True)
class TwoLines:
    """Two lines that are one but for rounding, each exact at its end: ``below`` up to the middle, ``above`` from there.

    Examples
    --------
    >>> span = between(0.0, 49.0, -1.0, 0.7)
    >>> span(0.0), span(49.0), span(None), between(0.0, 4.0, 5.0, 6.0)(2.0)
    (-1.0, 0.7, None, 5.5)
    """

    below: Affine
    above: Affine
    middle: float

    @property
    def factor(self) -> float:
        """How steep both are."""
        return self.below.factor

    def expression(self, name: str) -> nw.Expr:
        """Return the lines through column `name`."""
        low = nw.col(name).cast(nw.Float64) < self.middle
        return nw.when(low).then(self.below.expression(name)).otherwise(self.above.expression(name))

    def nodes(self, graph: OnnxGraph, name: str) -> Tensor:
        """Return the lines through column `name` of a graph in ONNX."""
        low = graph.add("Less", graph.number(name), graph.constant(self.middle))
        return graph.where(low, self.below.nodes(graph, name), self.above.nodes(graph, name))

    def __call__(self, value: Any) -> float | None:
        """Return the point of its line at one value."""
        return None if value is None else (self.below if float(value) < self.middle else self.above)(value)


def along_rows(lines: Sequence[Any], rows: Any) -> Any:
    """Return the points of the lines at the rows of a matrix, to the bit as one by one; NaN stays."""
    if any(isinstance(line, TwoLines) for line in lines):
        both = [line if isinstance(line, TwoLines) else TwoLines(line, line, 0.0) for line in lines]
        below, above = along_rows([each.below for each in both], rows), along_rows([each.above for each in both], rows)
        return np.where(rows < device_parameters([[each.middle] for each in both]), below, above)
    # Minus zero can be added to every number, zeros among them, and changes none.
    numbers = [(line.shift, line.first, line.factor, line.offset or -0.0) for line in lines]
    shift, first, factor, offset = np.split(device_parameters(numbers), 4, axis=1)
    along = (rows - shift) * first * factor + offset
    if all(line.factor for line in lines):
        return along
    return np.where(factor == 0, np.where(np.isnan(rows), rows, offset), along)


def between(low: float, high: float, least: float, most: float) -> Affine | TwoLines:
    """Return what maps `low` to `least` and `high` to `most`, to the bit, and nothing between them beyond."""
    factor = ratio(most - least, high - low)
    below = Affine(low, factor, least)
    if below(high) == most:
        return below  # rounding keeps order, so that all others lie between
    return TwoLines(below, Affine(high, factor, most), low / 2 + high / 2)


def into_unit(largest: float) -> Affine:
    """Return what maps `largest` to 1 to the bit, and 0 to 0; the values themselves where it is too small.

    Not a division, which Polars makes a product with the inverse. Where no factor is exact, one is after another: of a
    number between 1 and 1.5, times a power of 2, there is always one next to its inverse.

    Examples
    --------
    >>> into_unit(14.62)(14.62), 14.62 * (1 / 14.62)
    (1.0, 0.9999999999999999)
    """
    if not ratio(1.0, largest):
        return Affine()
    for first in _FIRST:
        inverse = ratio(1.0, largest * first)
        for factor in (inverse, math.nextafter(inverse, math.inf)):
            if largest * first * factor == 1.0:
                return Affine(factor=factor, first=first)
    raise AssertionError(f"no factor maps {largest!r} to 1")


@dataclass(frozen=True)
class AffineScaler(ColumnStage):
    """A stage that learns one :class:`Affine` for each column."""

    made_type: ClassVar[pa.DataType | None] = pa.float64()
    tags: ClassVar[Tags] = Tags(accepts="numeric", lazy=True, vectors=True)

    @abstractmethod
    def affine(self, name: str, fitted: Fitted) -> Affine | TwoLines:
        """Return the line for a column."""

    def notes(self, fitted: Fitted) -> list[str]:
        """Name the columns that the line maps to a single value."""
        flat = (name for name in self.inputs() if not self.affine(name, fitted).factor)
        return constant_note(flat, "or nearly so, every value becomes the same")

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Scale all columns in one list of expressions, or of a GPU in one block."""
        if fits_block(frame, self.inputs()):
            line_of = [self.affine(name, fitted) for name, _ in self.pairs()]
            return by_block(self, frame, lambda rows: along_rows(line_of, rows))
        lines = {out: self.affine(name, fitted).expression(name) for name, out in self.pairs()}
        return frame.with_columns(*[line.alias(out) for out, line in lines.items()])

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        graph.assign({out: self.affine(name, fitted).nodes(graph, name) for name, out in self.pairs()})

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Scale one value."""
        return self.affine(name, fitted)


def quality(columns: tuple[str, ...], schema: pa.Schema) -> dict[str, Statistic]:
    """Return the statistics that :func:`check_quality` looks at."""
    floating = tuple(name for name in columns if pa.types.is_floating(schema.field(name).type))
    infinite: dict[str, Statistic] = {"infinite": Violations(floating, "infinite")} if floating else {}
    return {"counts": Counts(columns), **infinite}


def check_quality(results: Mapping[str, Any]) -> None:
    """Raise DataValueError for the first column that has an infinity, or no value at all."""
    check_finite(results.get("infinite", {}))
    check_values(results["counts"])


def check_range(name: str, low: float, high: float) -> None:
    """Raise DataValueError when the difference of the largest and the smallest value of a column overflows.

    Examples
    --------
    >>> check_range("x", -1e308, 1e308)
    Traceback (most recent call last):
    penstock.errors.DataValueError: column 'x' reaches from -1e+308 to 1e+308, a range that float64 cannot hold
      Hint: Scale the column down before this step.
    """
    if math.isfinite(high - low):
        return
    raise DataValueError(
        f"column {name!r} reaches from {low!r} to {high!r}, a range that float64 cannot hold",
        hint="Scale the column down before this step.",
        column=name,
        predicate=nw.col(name).cast(nw.Float64) == low,
    )


def ratio(span: float, width: float) -> float:
    """Return ``span / width``; 0 where that is not finite, for a width of 0 or one too small to divide by.

    Examples
    --------
    >>> ratio(1.0, 4.0), ratio(1.0, 0.0), ratio(1.0, 5e-324)
    (0.25, 0.0, 0.0)
    """
    found = span / width if width else math.inf
    return found if math.isfinite(found) else 0.0
