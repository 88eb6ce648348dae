"""Decimals in expressions: all digits of what is computed, or a refusal, and a half that is rounded away from zero."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import narwhals as nw
from narwhals._expression_parsing import ExprKind, ExprNode

from penstock.core.errors import SchemaError

DIGITS = 38
"""Digits of the widest decimal."""
_OF_FLOATS = 15
QUOTIENT = 18
"""Digits that a quotient has behind the point, at least; more where one of the two that are divided has."""


def product_scale(left: int, right: int) -> int:
    """Return the digits behind the point of a product.

    Raises
    ------
    SchemaError
        No decimal has as many.
    """
    if left + right <= DIGITS:
        return left + right
    raise SchemaError(
        f"a product of decimals with {left} and {right} digits behind the point has {left + right} there, and the"
        f" widest type, decimal128({DIGITS}, {DIGITS}), has {DIGITS}",
        hint="Cast one of them to fewer digits before, or both to float64.",
    )


def quotient_scale(left: int, right: int) -> int:
    """Return the digits behind the point of a quotient."""
    return max(QUOTIENT, left, right)


def rounded(value: nw.Expr, digits: int) -> nw.Expr:
    """Return numbers with so many digits behind the point, a half away from zero."""
    # Narwhals names no mode, and hands on what it is given.
    node = ExprNode(ExprKind.ELEMENTWISE, "round", decimals=digits, mode="half_away_from_zero")
    return nw.Expr(*value._nodes, node)


def cast(value: nw.Expr, kind: Any, wanted: Any) -> nw.Expr:
    """Return numbers or texts as decimals, rounded where these have fewer digits."""
    if kind == nw.String:
        most = DIGITS - wanted.precision + wanted.scale
        value, kind = value.cast(nw.Decimal(DIGITS, most)), nw.Decimal(DIGITS, most)
    if (kind.is_decimal() and kind.scale > wanted.scale) or (kind.is_float() and wanted.scale < _OF_FLOATS):
        value = rounded(value, wanted.scale)
    return value.cast(wanted)


EXACT = ("__mul__", "__truediv__", "__mod__", "__floordiv__")
"""Functions of two decimals, without a lost digit in `exact`."""


def exact(name: str, left: nw.Expr, right: nw.Expr, kinds: Sequence[Any], *, may_be_zero: bool) -> nw.Expr:
    """Return exact arithmetic of decimals, or of a decimal and an integer; a division by zero is null."""
    scales = [each.scale if each.is_decimal() else 0 for each in kinds]
    if name == "__mul__":
        return left * right if 0 in scales else _product(left, right, kinds, product_scale(*scales))
    if name == "__truediv__":
        left = left.cast(nw.Decimal(DIGITS, quotient_scale(*scales)))
    divisor = nw.when(right != 0).then(right) if may_be_zero else right
    return getattr(operator, name)(left, divisor)


def _product(left: nw.Expr, right: nw.Expr, kinds: Sequence[Any], scale: int) -> nw.Expr:
    # It has as many digits as its wider factor: that is the one with the least before the point.
    wanted, whole = nw.Decimal(DIGITS, scale), [kind.precision - kind.scale for kind in kinds]
    return left.cast(wanted) * right if whole[0] < whole[1] else left * right.cast(wanted)
