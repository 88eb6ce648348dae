"""Casts, which SQL rounds where Polars cuts."""

from __future__ import annotations

from collections.abc import Mapping

import narwhals as nw
import pyarrow as pa
from sqlglot import exp

from penstock.core.errors import did_you_mean
from penstock.dataset.sql import values as sql
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
