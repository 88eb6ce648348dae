"""Missing values replaced by a typical one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError
from penstock.core.selectors import is_numeric
from penstock.stages.base import Fitted, RowFunction, Tags, with_fields
from penstock.stages.onnx_graph import OnnxGraph, not_in_onnx
from penstock.stages.parameter_checks import one_of
from penstock.stages.preprocessing.categories.vocabulary import holds
from penstock.stages.preprocessing.columns import check_finite, check_values
from penstock.stages.preprocessing.missing._filling import FillingStage
from penstock.stages.shapes import Fields, Number, Scalar, Shape, by_column
from penstock.statistics import (
    ColumnStatistic,
    Counts,
    Moments,
    NullIf,
    Quantiles,
    Statistic,
    TopK,
    ValueCounts,
    Violations,
)
from penstock.statistics.null_if import null_if

_STATISTICS: Mapping[str, Callable[[tuple[str, ...]], ColumnStatistic]] = {
    "mean": Moments,
    "median": Quantiles,
    "mode": partial(ValueCounts, keep=TopK(top=1)),
}


@dataclass(frozen=True)
class Imputer(FillingStage):
    """Replaces what is missing by the mean, the median or the mode of its column, or by a constant.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans; for the mode and a constant also strings.
    strategy : {"mean", "median", "mode", "constant"}, default="mean"
        What is put in: ``mode`` is the most frequent value, of several the smallest (strings by their UTF-8 bytes).
    fill_value : int, float, str or bool, optional
        The constant, of the type of the columns; for no other strategy.
    missing_value : int, float, str or bool, optional
        What is missing besides null, of the type of the columns: -999 say, or ``"?"``. It is replaced, and counts in no
        mean, median or mode.
    add_indicator : bool, default=False
        Add a boolean column ``<column>_missing`` for each column, true where it was missing; also for columns that
        missed nothing at fit (scikit-learn adds none there), so that the schema never depends on the data.
    output_columns : sequence of str, optional
        Names for the results, one a column; without it the columns are replaced.

    Raises
    ------
    ConfigError
        A parameter is wrong, or `fill_value` or `missing_value` cannot be held by a column.
    SchemaError
        At fit, before reading: a column is missing, or of a type that the strategy cannot take.
    DataValueError
        At fit: a column is missing in every row, or holds an infinity; never is NaN filled in. A constant needs no
        values.

    Notes
    -----
    For the mean and the median a floating column keeps its type, and integers and booleans become float64. For the
    mode and a constant every column keeps its type.

    The median is a value of the data, of an even number of values the lower of the middle two. It is exact up to 65,536
    values; beyond, its rank is wrong by at most about a thousandth of the rows for a billion of them, and by less for
    fewer, see :class:`~penstock.statistics.Quantiles`. The mode counts every distinct value. Learned are ``values``, by
    column.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1, 4, None]}))
    >>> ps.Pipeline(st.Imputer("x", add_indicator=True)).fit(data).transform(data).to_polars().rows()
    [(1.0, False), (4.0, False), (2.5, True)]
    """

    _: KW_ONLY
    strategy: str = field(default="mean", metadata=one_of("mean", "median", "mode", "constant"))
    fill_value: float | str | bool | None = None
    missing_value: float | str | bool | None = None
    add_indicator: bool = False

    tags: ClassVar[Tags] = Tags(lazy=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.strategy == "constant") != (self.fill_value is not None):
            raise ConfigError(
                f"strategy of Imputer is {self.strategy!r} and fill_value is {self.fill_value!r};"
                " expected a fill_value for 'constant', and for nothing else",
                stage=self.title,
            )
        for role, value in self._constants().items():
            if isinstance(value, float) and not math.isfinite(value):
                hint = "NaN is null as soon as it is read." if math.isnan(value) else None
                problem = f"{role} of Imputer is {value!r}, expected a finite one"
                raise ConfigError(problem, hint=hint, stage=self.title)

    def _constants(self) -> dict[str, Any]:
        """Return the values that columns must be able to hold, by their parameter."""
        values = {name: getattr(self, name) for name in ("fill_value", "missing_value")}
        return {name: value for name, value in values.items() if value is not None}

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns and check their types against the strategy."""
        bound = super().bind(schema)
        for name in bound.inputs():
            self._check_column(name, schema.field(name).type)
        for name in bound._indicators().values():
            if name in schema.names or name in (bound.output_columns or ()):
                raise ConfigError(
                    f"Imputer adds the indicator {name!r}, but there is a column of that name",
                    hint="Rename it before, or leave add_indicator out.",
                    column=name,
                    stage=self.title,
                )
        return bound

    def _check_column(self, name: str, kind: pa.DataType) -> None:
        strings = self.strategy in ("mode", "constant")
        if not is_numeric(kind) and not (strings and pa.types.is_string(kind)):
            raise SchemaError(
                f"column {name!r} is {kind}, but Imputer with strategy {self.strategy!r} takes numbers"
                + (" and strings" if strings else ""),
                hint='strategy="mode" takes strings too.' if pa.types.is_string(kind) else "Leave it out.",
                column=name,
                stage=self.title,
            )
        for role, value in self._constants().items():
            if not _holds(kind, value):
                raise ConfigError(
                    f"{role} of Imputer is {value!r}, which column {name!r} of type {kind} cannot hold",
                    hint="Use one Imputer for each kind of column.",
                    column=name,
                    stage=self.title,
                )

    def _indicators(self) -> dict[str, str]:
        return {name: f"{name}_missing" for name in self.inputs()} if self.add_indicator else {}

    def outputs(self) -> tuple[str, ...]:
        """Return the columns filled, and the indicators."""
        return (*super().outputs(), *self._indicators().values())

    def pairs(self) -> list[tuple[str, str]]:
        """Return (input, output) names, without the indicators."""
        return list(zip(self.inputs(), super().outputs(), strict=True))

    def output_type(self, kind: pa.DataType) -> pa.DataType:
        """Return `kind`; float64 for integers and booleans filled with their mean or median."""
        keeps = self.strategy in ("mode", "constant") or pa.types.is_floating(kind)
        return kind if keeps else pa.float64()

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema with the filled columns, and the indicators at the end."""
        return with_fields(super().output_schema(schema), dict.fromkeys(self._indicators().values(), pa.bool_()))

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for what the strategy needs; nothing for a constant."""
        if self.strategy == "constant":
            return {}
        columns = self.inputs()
        counts, typical = Counts(columns), _STATISTICS[self.strategy](columns)
        asked: dict[str, Statistic] = {"counts": self._of_known(counts), "typical": self._of_known(typical)}
        floating = tuple(name for name in columns if pa.types.is_floating(schema.field(name).type))
        return {**asked, "infinite": Violations(floating, "infinite")} if floating else asked

    def _of_known(self, statistic: ColumnStatistic) -> ColumnStatistic:
        return statistic if self.missing_value is None else NullIf.of(statistic, self.missing_value)

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``values``, what is put in by column."""
        if self.strategy == "constant":
            return {"values": dict.fromkeys(self.inputs(), self.fill_value)}
        check_finite(results.get("infinite", {}))
        check_values(results["counts"])
        return {"values": {name: getattr(results["typical"][name], self.strategy) for name in self.inputs()}}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        if self.strategy == "mode":
            values = by_column(self.inputs(), lambda name: Scalar(schema.field(name).type))
        elif self.strategy == "constant":
            values = by_column(self.inputs(), Scalar(pa.scalar(self.fill_value).type))
        else:
            values = by_column(self.inputs(), Number())
        return Fields({"values": values})

    def known(self, frame: nw.DataFrame, name: str) -> nw.Expr:
        """Return a column with null in place of `missing_value`."""
        return nw.col(name) if self.missing_value is None else null_if(frame, name, self.missing_value)

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Fill all columns, and make all indicators, in one list of expressions."""
        missing = [self.known(frame, name).is_null().alias(out) for name, out in self._indicators().items()]
        return frame.with_columns(*self.filled(frame, fitted), *missing)

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        if self.missing_value is not None:
            raise not_in_onnx(self, f"missing_value {self.missing_value!r}", "Leave it out, and pass null instead.")
        missing = {out: graph.missing(name) for name, out in self._indicators().items()}
        super().to_onnx(graph, fitted)
        graph.assign(missing)

    def value_function(self, name: str, kind: pa.DataType, fitted: Fitted) -> Callable[[Any], Any] | None:
        """Fill one value."""
        fill = super().value_function(name, kind, fitted)
        if fill is None or self.missing_value is None:
            return fill
        missing = self._missing_in(kind)
        return lambda value: fill(None if value == missing else value)

    def _missing_in(self, kind: pa.DataType) -> Any:
        """Return `missing_value` as a column of a type has it."""
        return pa.scalar(self.missing_value, kind).as_py()

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        """Fill one row, and make its indicators."""
        fill, indicators = super().row_function(schema, fitted), self._indicators()
        if fill is None or not indicators:
            return fill
        values = {name: self._missing_in(schema.field(name).type) for name in indicators}

        def call(row: dict[str, Any]) -> None:
            missing = {out: row[name] in (None, values[name]) for name, out in indicators.items()}
            fill(row)
            row.update(missing)

        return call


def _holds(kind: pa.DataType, value: float | str | bool) -> bool:
    """Return whether a column of type `kind` can hold `value` as it is; a float32 one rounds."""
    if pa.types.is_floating(kind) and not isinstance(value, bool | str):
        return abs(value) <= {16: 65504.0, 32: 3.4028234663852886e38}.get(kind.bit_width, 1.7976931348623157e308)
    return holds(kind, value)
