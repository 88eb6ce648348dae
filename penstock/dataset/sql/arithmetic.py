"""Arithmetic: of integers in 64 bits, of decimals exactly, quotients to a scale, of all else in DOUBLE."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import narwhals as nw
import pyarrow as pa
from sqlglot import exp

from penstock.core.errors import SchemaError
from penstock.dataset.sql.dates import between_dates, moved
from penstock.dataset.sql.refusals import refused, shown
from penstock.dataset.sql.values import FLOAT, INT, Handler, Translate, Value, as_kind, is_number, scale_of
from penstock.expressions.decimals import DIGITS, product_scale, quotient_scale


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


_SCALES: Mapping[Any, Callable[[int, int], int]] = {
    operator.mul: product_scale, operator.truediv: quotient_scale, operator.add: max, operator.sub: max,
    operator.mod: max,
}  # fmt: skip
"""How many digits behind the point decimals have that are made of others."""


def _decimals(how: Callable[[Any, Any], Any], node: exp.Binary, left: Value, right: Value) -> Value | None:
    """Return what is exact: of decimals, and of these and integers; None of all else."""
    scales = [_scale(left), _scale(right)]
    if None in scales or not any(pa.types.is_decimal(each.kind) for each in (left, right)):
        return None
    try:
        kind = pa.decimal128(DIGITS, _SCALES[how](*scales))  # type: ignore[arg-type]
    except SchemaError as error:
        raise refused(
            node, f"{error.message}, in {shown(node)}", "CAST one of them to fewer digits, or to DOUBLE."
        ) from error
    return Value(how(_exact(left), _exact(right)), kind)


def _exact(value: Value) -> nw.Expr:
    return value.expr if value.literal is None else nw.lit(Decimal(value.literal))


def _calculated(how: Callable[[Any, Any], Any], node: exp.Binary, left: Value, right: Value) -> Value:
    numbers(node, left, right)
    if pa.types.is_null(left.kind) or pa.types.is_null(right.kind):
        return Value(nw.lit(None, nw.Float64), FLOAT)
    if pa.types.is_integer(left.kind) and pa.types.is_integer(right.kind):
        return Value(how(as_kind(left, INT), as_kind(right, INT)), INT)
    made = _decimals(how, node, left, right)
    return made or Value(how(as_kind(left, FLOAT), as_kind(right, FLOAT)), FLOAT)


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
    if (exact := _decimals(operator.truediv, node, left, right)) is not None:
        return exact
    by = as_kind(right, FLOAT)
    made = as_kind(left, FLOAT) / by
    if isinstance(right.literal, int | float | Decimal) and right.literal:
        return Value(made, FLOAT)
    return Value(nw.when(by != 0.0).then(made), FLOAT)


def _whole(node: exp.Binary, left: Value, right: Value) -> tuple[nw.Expr, nw.Expr, nw.Expr]:
    """Return two integers, and what their remainder lacks to one with the sign of the first; NULL by zero."""
    for each in (left, right):
        if not (pa.types.is_integer(each.kind) or pa.types.is_null(each.kind)):
            raise refused(node, f"{shown(node)} takes integers, found {each.kind}", "Cast it: CAST(x AS BIGINT).")
    mine, its = as_kind(left, INT), as_kind(right, INT)
    divisor = nw.when(its != 0).then(its)
    return mine, divisor, (mine % divisor != 0) & ((mine < 0) != (divisor < 0))


def _integer_division(node: exp.IntDiv, value: Translate) -> Value:
    left, right, is_cut = _whole(node, value(node.left), value(node.right))
    return Value(left // right + nw.when(is_cut).then(nw.lit(1)).otherwise(nw.lit(0)), INT)


def _modulo(node: exp.Mod, value: Translate) -> Value:
    """Return a remainder, which has the sign of what is divided."""
    left, right = value(node.left), value(node.right)
    if (exact := _decimals(operator.mod, node, left, right)) is not None:
        mine, its = _exact(left), _exact(right)
        size = mine.abs() % its.abs()
        return Value(nw.when(mine < 0).then(0 - size).otherwise(size), exact.kind)
    mine, divisor, is_cut = _whole(node, left, right)
    return Value(mine % divisor - nw.when(is_cut).then(divisor).otherwise(nw.lit(0)), INT)


ARITHMETIC: Mapping[type, Handler] = {
    exp.Add: _add, exp.Sub: _subtract, exp.Mul: _multiply, exp.Div: _divide, exp.IntDiv: _integer_division,
    exp.Mod: _modulo,
}  # fmt: skip
