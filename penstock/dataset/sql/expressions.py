"""What a query computes of a row, as an expression of Narwhals and its type."""

from __future__ import annotations

from collections.abc import Mapping

import narwhals as nw
import pyarrow as pa
from sqlglot import exp

from penstock.core.errors import did_you_mean
from penstock.dataset.sql import values as sql
from penstock.dataset.sql.arithmetic import ARITHMETIC
from penstock.dataset.sql.conditions import CONDITIONS, truth
from penstock.dataset.sql.dates import DATES
from penstock.dataset.sql.functions import FUNCTIONS
from penstock.dataset.sql.literals import LITERALS
from penstock.dataset.sql.refusals import refused, shown
from penstock.dataset.sql.values import Handler, Translate, Value, as_kind, dtype, is_number, moment
from penstock.expressions.decimals import DIGITS

_TYPES = {
    "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INT": pa.int32(), "BIGINT": sql.INT, "UTINYINT": pa.uint8(),
    "USMALLINT": pa.uint16(), "UINT": pa.uint32(), "UBIGINT": pa.uint64(), "FLOAT": pa.float32(), "DOUBLE": sql.FLOAT,
    "VARCHAR": sql.TEXT, "TEXT": sql.TEXT, "BOOLEAN": sql.BOOL, "DATE": sql.DATE, "TIMESTAMP": sql.TIMESTAMP,
    "TIMESTAMPNTZ": sql.TIMESTAMP,
}  # fmt: skip


def _kind(node: exp.DataType, cast: exp.Expr) -> pa.DataType:
    name = node.this.name
    if name == "DECIMAL":
        precision, scale = ([int(each.name) for each in node.expressions] + [0])[:2] if node.expressions else (18, 3)
        if precision <= DIGITS:
            return pa.decimal128(precision, scale)
        problem = f"{shown(node)} has more digits than the widest type, DECIMAL({DIGITS}, {scale})"
        raise refused(cast, problem, "Cast to that, or to DOUBLE.")
    if name not in _TYPES:
        raise refused(
            cast,
            f"{shown(node)} is no type here.{did_you_mean(name, _TYPES)}",
            f"Types are: {', '.join(name for name in _TYPES if name != 'TIMESTAMPNTZ')}, DECIMAL.",
        )
    return _TYPES[name]


def _cast(node: exp.Cast, value: Translate) -> Value:
    kind, made = _kind(node.to, node), value(node.this)
    if kind == made.kind:
        return made
    if isinstance(made.literal, str) and kind in (sql.DATE, sql.TIMESTAMP):
        return moment(made.literal, kind, node)
    if pa.types.is_null(made.kind):
        return Value(as_kind(made, kind), kind)
    return Value(_converted(made, kind, node), kind)


def _converted(made: Value, kind: pa.DataType, node: exp.Cast) -> nw.Expr:
    number, wanted = is_number(made.kind), is_number(kind)
    if number and pa.types.is_integer(kind) and not pa.types.is_integer(made.kind):
        return made.expr.round(0).cast(dtype(kind))
    if made.kind == sql.BOOL and pa.types.is_decimal(kind):
        return made.expr.cast(nw.Int64).cast(dtype(kind))
    if number and kind == sql.BOOL:
        return made.expr != 0
    if made.kind == sql.TEXT and kind == sql.DATE:
        return made.expr.str.to_date(format="%Y-%m-%d")
    if made.kind == sql.TEXT and kind == sql.TIMESTAMP:
        return made.expr.str.to_datetime(format="%Y-%m-%d %H:%M:%S").cast(dtype(kind))
    days = pa.types.is_date(made.kind) or pa.types.is_timestamp(made.kind)
    if pa.types.is_timestamp(made.kind) and kind == sql.DATE:
        return made.expr.dt.date()
    plain = made.kind in (sql.BOOL, sql.TEXT)
    as_text = kind == sql.TEXT and (number or plain or pa.types.is_date(made.kind))
    if as_text or (wanted and (number or plain)) or (days and kind == sql.TIMESTAMP):
        return made.expr.cast(dtype(kind))
    problem = f"{made.kind} cannot be cast to {kind}, in {shown(node)}"
    raise refused(node, problem, "dataset.cast has formats and rules for errors.")


CASTS: Mapping[type, Handler] = {exp.Cast: _cast}


_HANDLERS: Mapping[type, Handler] = {**LITERALS, **CONDITIONS, **ARITHMETIC, **CASTS, **DATES, **FUNCTIONS}


class SqlTranslator:
    """Turns resolved expressions over the columns of a schema into those of Narwhals."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def value(self, node: exp.Expr) -> Value:
        """Return the value of an expression.

        Raises
        ------
        ConfigError
            The dialect has it not, or its types do not go together; with the place in the text.
        """
        if isinstance(node, exp.Paren):
            return self.value(node.this)
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            if node.name not in self._schema.names:
                problem = f"column {node.meta.get('name', node.name)!r} is of the query around the subquery"
                raise refused(node, problem, "It can be compared in WHERE of the subquery, and nowhere else.")
            return Value(nw.col(node.name), self._schema.field(node.name).type)
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise unsupported(node)
        check_arguments(node, _ARGUMENTS.get(type(node), _COMMON))
        return handler(node, self.value)

    def condition(self, node: exp.Expr) -> nw.Expr:
        """Return the condition that an expression is."""
        return truth(node, self.value)

    def column(self, node: exp.Expr) -> nw.Expr:
        """Return the value of an expression as a column: a NULL of no type is refused."""
        made = self.value(node)
        if pa.types.is_null(made.kind) and not isinstance(node, exp.Column):
            raise refused(node, f"{shown(node)} has no type", "Give it one: CAST(NULL AS BIGINT).")
        return as_kind(made, made.kind)


_COMMON = {"this", "expression", "expressions", "safe", "typed", "coalesce", "ignore_nulls"}
_ARGUMENTS: Mapping[type, set[str]] = {
    exp.Literal: {"this", "is_string"}, exp.Between: {"this", "low", "high"}, exp.In: {"this", "expressions"},
    exp.Is: {"this", "expression", "negate"}, exp.Like: {"this", "expression", "negate"},
    exp.ILike: {"this", "expression", "negate"}, exp.Case: {"this", "ifs", "default"},
    exp.If: {"this", "true", "false"}, exp.Cast: {"this", "to"}, exp.DateTrunc: {"this", "unit"},
    exp.TimestampTrunc: {"this", "unit"}, exp.Substring: {"this", "start", "length"},
    exp.Replace: {"this", "expression", "replacement"}, exp.Round: {"this", "decimals"},
}  # fmt: skip
"""What the parser may note of a node, and is seen to; whatever else it notes is refused, and never left out."""


def check_arguments(node: exp.Expr, known: set[str]) -> None:
    """Raise ConfigError for a node of which the text says more than is known."""
    extra = [name for name, value in node.args.items() if value and name not in known]
    if extra:
        problem = f"{shown(node)} has {extra[0].upper()}, which is not supported"
        raise refused(node, problem, "Leave it out, or say it in other words.")


def unsupported(node: exp.Expr) -> Exception:
    """Return the error for what the dialect has not."""
    for kinds, what, hint in _INSTEAD:
        if isinstance(node, kinds):
            return refused(node, f"{what}: {shown(node)}", hint)
    name = node.sql_name() if isinstance(node, exp.Func) else node.key.upper()
    problem = f"{name} is not supported: {shown(node)}"
    return refused(node, problem, "docs/relational.md lists what the dialect has; verbs have more.")


_AGGREGATES = "It stands in SELECT, HAVING or ORDER BY, and in no other aggregate."
_INSTEAD: tuple[tuple[tuple[type, ...], str, str], ...] = (
    ((exp.Window,), "window functions are not supported", "Use dataset.rolling, lag or lead, or engine.window."),
    ((exp.Query,), "a subquery is not supported here", "Give it a name by WITH, and join it."),
    ((exp.Exists,), "EXISTS is not supported here", "Let it stand by itself in WHERE, between ANDs."),
    ((exp.AggFunc, exp.Filter), "an aggregate cannot stand here", _AGGREGATES),
    ((exp.TryCast,), "TRY_CAST is not supported", 'dataset.cast(..., errors="null") does it.'),
    ((exp.Star, exp.Column), "* cannot stand here", "It stands alone in SELECT, or in count(*)."),
    ((exp.Interval,), "an interval is no type of a column", "Add it to a date: d + INTERVAL '1' DAY."),
    ((exp.Placeholder, exp.Parameter), "parameters are not supported", "Write the value into the text."),
)
