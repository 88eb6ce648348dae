"""Aggregating expressions, taken apart: what is computed of each row, the aggregates of that, what is made of them.

Query engines differ in what they take inside an aggregate and in the types that they give, so that an expression as
``(nw.col("price") * nw.col("n")).sum() / nw.len()`` becomes a column, two plain aggregates, and a quotient.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import pyarrow as pa
from narwhals._expression_parsing import ExprKind, ExprNode

from penstock.core.errors import ConfigError, SchemaError, class_name, did_you_mean
from penstock.core.names import hidden_name
from penstock.core.schemas import require
from penstock.expressions.guarded import guarded
from penstock.expressions.terms import Term
from penstock.expressions.trees import UNNAMED, columns_in, shown, with_exprs

FUNCTIONS = (
    "sum", "mean", "min", "max", "count", "len", "n_unique", "std", "var", "median", "quantile", "first", "last",
    "any", "all",
)  # fmt: skip
_AGGREGATIONS = (ExprKind.AGGREGATION, ExprKind.ORDERABLE_AGGREGATION)
_NO_DOTS = str.maketrans(".`", "·'")
_COUNTS = ("count", "len", "n_unique")
_AVERAGES = ("mean", "median", "quantile", "std", "var")


@dataclass(frozen=True)
class Aggregate:
    """A function of the values that a column has in a group.

    Parameters
    ----------
    output : str
        The column that it makes.
    function : str
        One of `FUNCTIONS`.
    column : str, optional
        What it is computed of; None for ``len``.
    kind : pyarrow.DataType
        The type of what it makes.
    parameter : int or float, optional
        ``ddof`` of ``std`` and ``var``, the fraction of ``quantile``.
    long : str, optional
        What is added up, in words, where 64 bits may not hold the sum.
    """

    output: str
    function: str
    column: str | None
    kind: pa.DataType
    parameter: float | None = None
    long: str | None = None

    @property
    def may_be_nan(self) -> bool:
        """Whether it gives NaN of numbers that are none: infinities cancel each other."""
        return self.kind == pa.float64() and self.function not in ("min", "max", "first", "last")

    @property
    def is_ordered(self) -> bool:
        """Whether it depends on the order of the rows."""
        return self.function in ("first", "last")


@dataclass
class Parts:
    """Expressions taken apart.

    Attributes
    ----------
    inputs : dict of str to narwhals.Expr
        Columns that are made of each row before, without NaN.
    reads, kinds : dict
        What each of them reads, and its type.
    aggregates : list of Aggregate
        Of these columns.
    outputs : dict of str to narwhals.Expr
        What is made of the aggregates, in the end.
    """

    inputs: dict[str, nw.Expr] = field(default_factory=dict)
    reads: dict[str, frozenset[str]] = field(default_factory=dict)
    kinds: dict[str, pa.DataType] = field(default_factory=dict)
    aggregates: list[Aggregate] = field(default_factory=list)
    outputs: dict[str, nw.Expr] = field(default_factory=dict)


def take_apart(expressions: Mapping[str, Any], schema: pa.Schema, verb: str) -> Parts:
    """Return the parts of aggregating expressions, by the names of what they make.

    Parameters
    ----------
    expressions : mapping of str to narwhals.Expr or str
        A name is that of a function of `FUNCTIONS`, of the column that has the name of the result.

    Raises
    ------
    ConfigError
        It is no expression; it has a function that engines do not have alike; what it makes is not one value of a
        group.
    SchemaError
        A column is not there, or of a type that the function does not take.

    Examples
    --------
    >>> schema = pa.schema({"price": pa.float64(), "n": pa.int32()})
    >>> parts = take_apart({"mean": (nw.col("price") * nw.col("n")).sum() / nw.len()}, schema, "agg")
    >>> [(each.function, str(each.kind)) for each in parts.aggregates]
    [('sum', 'double'), ('len', 'int64')]
    """
    apart = _Apart(schema, verb)
    for name, given in expressions.items():
        apart.take(name, given)
    return apart.parts


class _Apart:
    def __init__(self, schema: pa.Schema, verb: str) -> None:
        self.parts, self._schema, self._verb = Parts(), schema, verb

    def take(self, name: str, given: Any) -> None:
        expression = self._expression(name, given)
        for column in columns_in(expression):
            require(self._schema, column, stage=self._verb)
        output, is_value = self._outer(expression, name)
        if not is_value:
            raise ConfigError(
                f"{self._verb} makes {name!r} of {expression!r}, which is no single value of a group",
                hint="Aggregate every column in it: nw.col(...).sum(), say.",
                stage=self._verb,
            )
        self.parts.outputs[name] = output

    def _expression(self, name: str, given: Any) -> nw.Expr:
        if isinstance(given, nw.Expr):
            return given
        if given == "len":
            return nw.len()
        if not isinstance(given, str) or given not in FUNCTIONS:
            near = did_you_mean(given, FUNCTIONS) if isinstance(given, str) else ""
            found = repr(given) if isinstance(given, str) else class_name(given)
            raise ConfigError(
                f"{self._verb} makes {name!r} by {found}, expected an expression of Narwhals or one of"
                f" {', '.join(FUNCTIONS)}.{near}",
                hint='Write nw.col("x").sum(), after import narwhals as nw; or x="sum" for the column of that name.',
                stage=self._verb,
            )
        if given == "quantile":
            raise ConfigError(
                f"{self._verb} is given 'quantile' without a fraction",
                hint='Write nw.col("x").quantile(0.9, interpolation="linear").',
                stage=self._verb,
            )
        return getattr(nw.col(name), given)()

    def _outer(self, expression: nw.Expr, name: str) -> tuple[nw.Expr, bool]:
        """Return an expression over aggregates, and whether all that it reads are such."""
        ahead: list[ExprNode] = []
        is_value = True
        for node in expression._nodes:
            if node.kind in _AGGREGATIONS:
                ahead, is_value = list(nw.col(self._aggregate(ahead, node, name))._nodes), True
                continue
            self._check_plain(node, name)
            exprs = []
            for each in node.exprs:
                made, is_scalar = (
                    self._outer(each, name) if isinstance(each, nw.Expr) else (each, _is_literal(node, each))
                )
                exprs.append(made)
                is_value = is_value and is_scalar
            is_value = is_value and node.kind not in (ExprKind.COL, ExprKind.ALL)
            ahead.append(with_exprs(node, exprs) if node.exprs else node)
        return nw.Expr(*ahead), is_value

    def _check_plain(self, node: ExprNode, name: str) -> None:
        if not node.kind.is_elementwise or node.kind in UNNAMED:
            raise ConfigError(
                f"{self._verb} makes {name!r} by {node.name}(), which is no aggregate that all engines have",
                hint=f"Aggregates are: {', '.join(FUNCTIONS)}; inside and around them whatever goes row by row.",
                stage=self._verb,
            )

    def _aggregate(self, ahead: list[ExprNode], node: ExprNode, name: str) -> str:
        """Note an aggregate, and return the name of its column."""
        if node.name not in FUNCTIONS or node.kwargs.get("order_by"):
            raise ConfigError(
                f"{self._verb} makes {name!r} by {node.name}(), which is no aggregate that all engines have",
                hint=f"Aggregates are: {', '.join(FUNCTIONS)}."
                + (" first and last go by the order of the rows: sort before." if node.kwargs.get("order_by") else ""),
                stage=self._verb,
            )
        for each in ahead:
            self._check_plain(each, name)
        number = len(self.parts.aggregates)
        output = hidden_name("value", number)
        if not ahead:  # nw.len()
            self.parts.aggregates.append(Aggregate(output, "len", None, pa.int64()))
            return output
        made = self._of_input(nw.Expr(*ahead), node, name, output)
        if made.long:  # errors have the name; Spark takes no dot and no backquote in one
            made = replace(made, output=hidden_name(f"sum of {made.long.translate(_NO_DOTS)}"[:80], number))
        self.parts.aggregates.append(made)
        return made.output

    def _of_input(self, expression: nw.Expr, node: ExprNode, name: str, output: str) -> Aggregate:
        """Note what an aggregate is computed of, and return it."""
        if node.name == "quantile" and node.kwargs["interpolation"] != "linear":
            raise ConfigError(
                f"{self._verb} makes {name!r} by a quantile with interpolation {node.kwargs['interpolation']!r}",
                hint='All engines have interpolation="linear".',
                stage=self._verb,
            )
        part, kind = guarded(expression, self._schema, self._verb, limited=node.name == "sum")
        before, after = aggregated(node.name, kind, expression, self._verb)
        is_long = node.name == "sum" and after == pa.int64() and _is_long(part, kind)
        said = shown(expression) if is_long else None
        column = hidden_name("input", len(self.parts.inputs))
        self.parts.inputs[column] = part.value if before is None else part.value.cast(before)
        self.parts.kinds[column] = {nw.Int64: pa.int64(), nw.Float64: pa.float64()}.get(before, kind)
        self.parts.reads[column] = frozenset(columns_in(expression))
        parameter = node.kwargs.get("ddof", node.kwargs.get("quantile"))
        return Aggregate(output, node.name, column, after, parameter, said)


def _is_long(part: Term, kind: pa.DataType) -> bool:
    """Return whether the sum of a billion integers may be beyond 64 bits."""
    most = max(map(abs, part.limits)) if part.limits else 2 ** (kind.bit_width - 1)
    return bool(most * 2**30 >= 2**63)


def _is_literal(node: ExprNode, value: Any) -> bool:
    """Return whether an argument is a value, and not the name of a column."""
    return node.str_as_lit or not isinstance(value, str)


def aggregated(function: str, kind: pa.DataType, what: object, verb: str) -> tuple[Any, pa.DataType]:
    """Return the type to which values are cast before, None if they stay, and the type of their aggregate.

    Counts are int64, sums of integers and booleans int64, of decimals decimals of 38 digits, of floats float64, as are
    mean, median, quantile, std and var; min, max, first and last have the type of the values.

    Raises
    ------
    SchemaError
        The function does not take the type.
    """
    if function in _COUNTS:
        return None, pa.int64()
    takes_all = function in ("first", "last") or (function in ("min", "max") and not pa.types.is_nested(kind))
    if takes_all or (function in ("any", "all") and pa.types.is_boolean(kind)):
        return None, kind
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    decimal = pa.types.is_decimal128(kind)
    if function in _AVERAGES and (number or decimal):
        return nw.Float64, pa.float64()
    if function == "sum" and pa.types.is_floating(kind):
        return nw.Float64, pa.float64()
    if function == "sum" and number and not pa.types.is_uint64(kind):
        return nw.Int64, pa.int64()
    if function == "sum" and decimal:
        return None, pa.decimal128(38, kind.scale)
    takes = _TAKES[function]
    raise SchemaError(
        f"{verb} takes the {function} of {what!r}, which is {kind}; it takes {takes}",
        hint="Cast it before: nw.col(...).cast(...).",
        stage=verb,
    )


_TAKES: Mapping[str, str] = {
    **dict.fromkeys(("min", "max"), "what is not nested"),
    **dict.fromkeys(("any", "all"), "booleans"),
    **dict.fromkeys(_AVERAGES, "numbers"),
    "sum": "numbers but uint64",
}
