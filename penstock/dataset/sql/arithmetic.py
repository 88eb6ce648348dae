"""Arithmetic: of integers in 64 bits, of decimals exactly but for quotients, of all else in DOUBLE."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import narwhals as nw
import pyarrow as pa
from sqlglot import exp

from penstock.dataset.sql.dates import between_dates, moved
from penstock.dataset.sql.refusals import refused, shown
from penstock.dataset.sql.values import FLOAT, INT, Handler, Translate, Value, as_kind, dtype, is_number, scale_of

_MOST_DIGITS = 18
"""How many digits a product of decimals has behind the point, at most; beyond that it is DOUBLE."""


def numbers(node: exp.Expr, *values: Value) -> None:
    """Raise ConfigError unless all values are numbers."""
    for each in values:
        if not is_number(each.kind):
            problem = f"{shown(node)} takes numbers, found {each.kind}"
            raise refused(node, problem, "Cast it: CAST(x AS BIGINT), or AS DOUBLE.")


def _scale(value: Value) -> int | None:
    """Return the digits behind the point of what a decimal can be calculated with; None of what is DOUBLE."""
    if isinstance(value.literal, Decimal):
        return scale_of(value.literal)
    if pa.types.is_decimal(value.kind):
        return int(value.kind.scale)
    return 0 if pa.types.is_integer(value.kind) else None


def _calculated(how: Callable[[Any, Any], Any], node: exp.Binary, left: Value, right: Value) -> Value:
    numbers(node, left, right)
    if pa.types.is_null(left.kind) or pa.types.is_null(right.kind):
        return Value(nw.lit(None, nw.Float64), FLOAT)
    if pa.types.is_integer(left.kind) and pa.types.is_integer(right.kind):
        return Value(how(as_kind(left, INT), as_kind(right, INT)), INT)
    scales = [_scale(left), _scale(right)]
    if any(pa.types.is_decimal(each.kind) for each in (left, right)) and None not in scales:
        scale = sum(scales) if how is operator.mul else max(scales)  # type: ignore[arg-type, type-var]
        if scale is not None and scale <= _MOST_DIGITS:
            kind = pa.decimal128(38, scale)
            return Value(how(_decimal(left, kind), _decimal(right, kind)), kind)
    return Value(how(as_kind(left, FLOAT), as_kind(right, FLOAT)), FLOAT)


def _decimal(value: Value, kind: pa.DataType) -> nw.Expr:
    if value.literal is not None:
        return nw.lit(Decimal(value.literal)).cast(dtype(kind))
    return value.expr.cast(dtype(kind))


def _add(node: exp.Add, value: Translate) -> Value:
    if isinstance(node.right, exp.Interval):
        return moved(value(node.left), node.right, 1, node)
    if isinstance(node.left, exp.Interval):
        return moved(value(node.right), node.left, 1, node)
    return _calculated(operator.add, node, value(node.left), value(node.right))


def _subtract(node: exp.Sub, value: Translate) -> Value:
    if isinstance(node.right, exp.Interval):
        return moved(value(node.left), node.right, -1, node)
    left, right = value(node.left), value(node.right)
    if pa.types.is_temporal(left.kind) and pa.types.is_temporal(right.kind):
        return between_dates(left, right, node)
    return _calculated(operator.sub, node, left, right)


def _multiply(node: exp.Mul, value: Translate) -> Value:
    return _calculated(operator.mul, node, value(node.left), value(node.right))


def _divide(node: exp.Div, value: Translate) -> Value:
    left, right = value(node.left), value(node.right)
    numbers(node, left, right)
    by = as_kind(right, FLOAT)
    made = as_kind(left, FLOAT) / by
    if isinstance(right.literal, int | float | Decimal) and right.literal:
        return Value(made, FLOAT)
    return Value(nw.when(by != 0.0).then(made), FLOAT)


def _whole(node: exp.Binary, value: Translate) -> tuple[nw.Expr, nw.Expr, nw.Expr]:
    """Return two integers and their quotient, cut towards zero; NULL for a division by zero."""
    left, right = value(node.left), value(node.right)
    for each in (left, right):
        if not (pa.types.is_integer(each.kind) or pa.types.is_null(each.kind)):
            raise refused(node, f"{shown(node)} takes integers, found {each.kind}", "Cast it: CAST(x AS BIGINT).")
    mine, its = as_kind(left, INT), as_kind(right, INT)
    divisor = nw.when(its != 0).then(its)
    quotient = mine.abs() // divisor.abs()
    return mine, divisor, nw.when((mine < 0) != (divisor < 0)).then(0 - quotient).otherwise(quotient)


def _integer_division(node: exp.IntDiv, value: Translate) -> Value:
    return Value(_whole(node, value)[2], INT)


def _modulo(node: exp.Mod, value: Translate) -> Value:
    left, right, quotient = _whole(node, value)
    return Value(left - right * quotient, INT)


ARITHMETIC: Mapping[type, Handler] = {
    exp.Add: _add, exp.Sub: _subtract, exp.Mul: _multiply, exp.Div: _divide, exp.IntDiv: _integer_division,
    exp.Mod: _modulo,
}  # fmt: skip
