"""Constants."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import narwhals as nw
import pyarrow as pa
from sqlglot import exp

from penstock.dataset.sql.refusals import refused
from penstock.dataset.sql.values import BOOL, FLOAT, INT, TEXT, Handler, Translate, Value, constant, fits

_MOST_DIGITS = 19
"""Digits of an integer of 64 bits, at most."""


def _literal(node: exp.Literal, value: Translate) -> Value:
    return constant(node.this, TEXT) if node.is_string else number(node.this, node)


def number(text: str, node: exp.Expr) -> Value:
    """Return a constant of a text of digits: BIGINT, or what has a point, which is DOUBLE unless it meets a DECIMAL."""
    if "e" in text.lower():
        return constant(float(text), FLOAT)
    if "." in text:
        return Value(nw.lit(float(text), nw.Float64), FLOAT, Decimal(text))
    if len(text.lstrip("-0")) > _MOST_DIGITS or not fits(int(text), INT):
        raise refused(node, f"{text[:60]} is beyond 64 bits", "Write it with a point: it is a DOUBLE then.")
    return constant(int(text), INT)


def _negative(node: exp.Neg, value: Translate) -> Value:
    inner = node.this.unnest()
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return number(f"-{inner.this}", node)
    made = value(inner)
    if not (pa.types.is_integer(made.kind) or pa.types.is_floating(made.kind) or pa.types.is_decimal(made.kind)):
        raise refused(node, f"- takes a number, found {made.kind}", "Cast it: CAST(x AS BIGINT).")
    if pa.types.is_integer(made.kind):
        return Value(-made.expr.cast(nw.Int64), INT)
    if pa.types.is_decimal(made.kind):
        return Value(0 - made.expr, pa.decimal128(38, made.kind.scale))
    return Value(made.expr * -1, made.kind)


def whole(node: Any, what: str) -> int:
    """Return a constant whole number that an argument has to be."""
    inner = node.unnest() if node is not None else None
    sign = -1 if isinstance(inner, exp.Neg) else 1
    inner = inner.this if isinstance(inner, exp.Neg) else inner
    digits = str(inner.this) if isinstance(inner, exp.Literal) and not inner.is_string else ""
    if not digits.isdigit() or len(digits) > _MOST_DIGITS:
        raise refused(node, f"{what} takes a whole number that stands in the text", "Write the number itself.")
    return sign * int(digits)


def text(node: Any, what: str) -> str:
    """Return a constant text that an argument has to be."""
    if not (isinstance(node, exp.Literal) and node.is_string):
        raise refused(node, f"{what} takes a text between single quotes", "Write the text itself.")
    return str(node.this)


LITERALS: Mapping[type, Handler] = {
    exp.Literal: _literal, exp.Neg: _negative, exp.Null: lambda node, value: Value(nw.lit(None), pa.null()),
    exp.Boolean: lambda node, value: constant(bool(node.this), BOOL),
}  # fmt: skip
