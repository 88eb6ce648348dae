"""Missing values replaced by a typical one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError, SchemaError
from penstock.core.selectors import Columns, is_numeric, resolve
from penstock.stages.base import Fitted, RowFunction, Tags, normalise_columns, with_fields, wrong_type
from penstock.stages.onnx_graph import OnnxGraph, not_in_onnx
from penstock.stages.parameter_checks import added_later, one_of
from penstock.stages.preprocessing._groups import is_key
from penstock.stages.preprocessing.categories.vocabulary import holds
from penstock.stages.preprocessing.columns import check_finite, check_values, output_kinds
from penstock.stages.preprocessing.missing._filling import FillingStage, GroupFills
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
    """Replaces what is missing by the mean, the median or the mode of its column or of its group, or by a constant.

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
    by : str, sequence of str, or Selector, optional
        Columns of strings, integers or booleans to group by; of several, each combination is a group. What is put in is
        then that of the rows of the fit with the key of the row, and that of all rows where the key was unseen at fit,
        or is null, or had nothing but nulls in the column. Not with a constant, nor with a `missing_value`.
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

    By group, medians are exact, of any number of values: they and modes count the values of each group, at most 16
    million pairs of both. What is learned grows with the number of groups, and every worker holds all of it: beside
    ``values`` there are ``groups``, an Arrow table of the keys, ascending, and ``fills``, one of a row for each of them
    and a column ``fill_<i>`` for column i. A key that is among the columns, or made by this stage, is refused.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": [1, 4, None]}))
    >>> ps.Pipeline(st.Imputer("x", add_indicator=True)).fit(data).transform(data).to_polars().rows()
    [(1.0, False), (4.0, False), (2.5, True)]
    >>> data = ps.LocalEngine().from_arrow(pa.table({"shop": ["a", "b", "b"], "paid": [1.0, 5.0, None]}))
    >>> ps.Pipeline(st.Imputer("paid", by="shop")).fit(data).transform(data).to_arrow()["paid"].to_pylist()
    [1.0, 5.0, 5.0]
    """

    _: KW_ONLY
    strategy: str = field(default="mean", metadata=one_of("mean", "median", "mode", "constant"))
    fill_value: float | str | bool | None = None
    missing_value: float | str | bool | None = None
    add_indicator: bool = False
    by: Columns | None = field(default=None, metadata=added_later())

    tags: ClassVar[Tags] = Tags(lazy=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        normalise_columns(self, "by")
        if self.by is not None:
            self._check_grouped()
            object.__setattr__(self, "tags", replace(self.tags, lazy=False))
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

    def _check_grouped(self) -> None:
        """Raise ConfigError for what goes by no group."""
        if self.strategy == "constant" or self.missing_value is not None:
            what = (
                "strategy is 'constant'" if self.strategy == "constant" else f"missing_value is {self.missing_value!r}"
            )
            hint = (
                "Set such values to null before, by Derive say." if self.missing_value is not None else "Leave by out."
            )
            raise ConfigError(f"by of Imputer is {self.by!r}, and {what}", hint=hint, stage=self.title)

    def _constants(self) -> dict[str, Any]:
        """Return the values that columns must be able to hold, by their parameter."""
        values = {name: getattr(self, name) for name in ("fill_value", "missing_value")}
        return {name: value for name, value in values.items() if value is not None}

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns and check their types against the strategy."""
        bound = self._bound_keys(super().bind(schema), schema)
        for name in bound.filled_columns:
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

    def _bound_keys(self, bound: Self, schema: pa.Schema) -> Self:
        if self.by is None:
            return bound
        by = resolve(self.by, schema, self.title)
        for name in by:
            kind = schema.field(name).type
            if name in (*bound.filled_columns, *bound.outputs()):
                raise ConfigError(f"by {name!r} is among the columns", column=name, stage=self.title)
            if not is_key(kind):
                raise wrong_type(self.title, name, kind, "strings, integers or booleans to group by")
        return replace(bound, by=by)

    @property
    def filled_columns(self) -> tuple[str, ...]:
        """The columns that are filled; the stage is bound."""
        return self.columns  # type: ignore[return-value]

    def inputs(self) -> tuple[str, ...]:
        """Return the columns filled, and those grouped by."""
        return (*self.filled_columns, *self._keys)

    @property
    def _keys(self) -> tuple[str, ...]:
        return self.by or ()  # type: ignore[return-value]

    @property
    def _groups(self) -> GroupFills | None:
        return GroupFills(self._keys, self.filled_columns, self.strategy) if self.by is not None else None

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
        return {name: f"{name}_missing" for name in self.filled_columns} if self.add_indicator else {}

    def outputs(self) -> tuple[str, ...]:
        """Return the columns filled, and the indicators."""
        return (*super().outputs(), *self._indicators().values())

    def pairs(self) -> list[tuple[str, str]]:
        """Return (input, output) names, without the indicators."""
        return list(zip(self.filled_columns, super().outputs(), strict=True))

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
        columns = self.filled_columns
        counts, typical = Counts(columns), _STATISTICS[self.strategy](columns)
        asked: dict[str, Statistic] = {"counts": self._of_known(counts), "typical": self._of_known(typical)}
        asked |= {} if self._groups is None else {"groups": self._groups.statistic()}
        floating = tuple(name for name in columns if pa.types.is_floating(schema.field(name).type))
        return {**asked, "infinite": Violations(floating, "infinite")} if floating else asked

    def _of_known(self, statistic: ColumnStatistic) -> ColumnStatistic:
        return statistic if self.missing_value is None else NullIf.of(statistic, self.missing_value)

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``values``, what is put in by column."""
        if self.strategy == "constant":
            return {"values": dict.fromkeys(self.filled_columns, self.fill_value)}
        check_finite(results.get("infinite", {}))
        check_values(results["counts"])
        values = {name: getattr(results["typical"][name], self.strategy) for name in self.filled_columns}
        return {"values": values, **({} if self._groups is None else self._groups.learned(results["groups"]))}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        if self.strategy == "mode":
            values = by_column(self.filled_columns, lambda name: Scalar(schema.field(name).type))
        elif self.strategy == "constant":
            values = by_column(self.filled_columns, Scalar(pa.scalar(self.fill_value).type))
        else:
            values = by_column(self.filled_columns, Number())
        groups = {} if self._groups is None else self._groups.shapes(schema, fitted)
        return Fields({"values": values, **groups})

    def fills(self) -> list[tuple[str, str]]:
        """Return the pairs of columns of which all nulls get one value: none by group."""
        return self.pairs() if self.by is None else []

    def known(self, frame: nw.DataFrame, name: str) -> nw.Expr:
        """Return a column with null in place of `missing_value`."""
        return nw.col(name) if self.missing_value is None else null_if(frame, name, self.missing_value)

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Fill all columns, and make all indicators, in one list of expressions."""
        if self._groups is None and self.missing_value is None and not self._indicators():
            return super().transform(frame, fitted)
        missing = [self.known(frame, name).is_null().alias(out) for name, out in self._indicators().items()]
        return frame.with_columns(*self.filled(frame, fitted), *missing)

    def filled(self, frame: nw.DataFrame[Any], fitted: Fitted) -> list[Any]:
        """Return the columns without nulls."""
        if self._groups is None or not fitted:
            return super().filled(frame, fitted)
        fills = self._groups.columns_of(frame, fitted, output_kinds(self, frame))
        known = frame.select(*[nw.col(name).cast(fill.dtype) for name, fill in fills.items()])
        grouped = known.with_columns(
            *[known[name].zip_with(~known[name].is_null(), fill) for name, fill in fills.items()]
        )
        made = grouped.select(*super().filled(grouped, fitted))
        return [made[out] for _, out in self.pairs()]

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        if self.by is not None:
            raise not_in_onnx(self, f"by {', '.join(self._keys)}", "Fill by the values of all rows.")
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
        fill, indicators = self._fill_function(schema, fitted), self._indicators()
        if fill is None or not indicators:
            return fill
        values = {name: self._missing_in(schema.field(name).type) for name in indicators}

        def call(row: dict[str, Any]) -> None:
            missing = {out: row[name] in (None, values[name]) for name, out in indicators.items()}
            fill(row)
            row.update(missing)

        return call

    def _fill_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        fill = super().row_function(schema, fitted)
        if fill is None or self._groups is None:
            return fill
        of_row, pairs = self._groups.of_row(fitted), self.pairs()

        def call(row: dict[str, Any]) -> None:
            by_group = of_row(row)
            known = {name: by_group[name] if row[name] is None else row[name] for name, _ in pairs}
            fill(known)
            row.update([(out, known[out]) for _, out in pairs])

        return call


def _holds(kind: pa.DataType, value: float | str | bool) -> bool:
    """Return whether a column of type `kind` can hold `value` as it is; a float32 one rounds."""
    if pa.types.is_floating(kind) and not isinstance(value, bool | str):
        return abs(value) <= {16: 65504.0, 32: 3.4028234663852886e38}.get(kind.bit_width, 1.7976931348623157e308)
    return holds(kind, value)
