"""Decimals in expressions: all digits of what is computed, or a refusal, and a half that is rounded away from zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import narwhals as nw
from narwhals._expression_parsing import ExprKind, ExprNode

from penstock.core.errors import SchemaError

DIGITS = 38
_OF_FLOATS = 15
"""Digits of the widest decimal."""
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
    wanted = wanted() if isinstance(wanted, type) else wanted
    if kind == nw.String:
        most = DIGITS - wanted.precision + wanted.scale
        value, kind = value.cast(nw.Decimal(DIGITS, most)), nw.Decimal(DIGITS, most)
    if (kind.is_decimal() and kind.scale > wanted.scale) or (kind.is_float() and wanted.scale < _OF_FLOATS):
        value = rounded(value, wanted.scale)
    return value.cast(wanted)


Pair = Sequence[nw.Expr]


def _scales(kinds: Sequence[Any]) -> list[int]:
    return [each.scale if each.is_decimal() else 0 for each in kinds]


def _multiplied(pair: Pair, kinds: Sequence[Any], *, is_known: bool) -> nw.Expr:
    left, right = pair
    if not all(kind.is_decimal() for kind in kinds) or 0 in _scales(kinds):
        return left * right
    wanted = nw.Decimal(DIGITS, product_scale(*_scales(kinds)))
    # The product has as many digits as its wider factor: that is the one with the least before the point.
    whole = [kind.precision - kind.scale for kind in kinds]
    return left.cast(wanted) * right if whole[0] < whole[1] else left * right.cast(wanted)


def _not_zero(divisor: nw.Expr, *, is_known: bool) -> nw.Expr:
    return divisor if is_known else nw.when(divisor != 0).then(divisor)


def _divided(pair: Pair, kinds: Sequence[Any], *, is_known: bool) -> nw.Expr:
    wanted = nw.Decimal(DIGITS, quotient_scale(*_scales(kinds)))
    return pair[0].cast(wanted) / _not_zero(pair[1], is_known=is_known)


def _remainder(pair: Pair, kinds: Sequence[Any], *, is_known: bool) -> nw.Expr:
    return pair[0] % _not_zero(pair[1], is_known=is_known)


def _whole_quotient(pair: Pair, kinds: Sequence[Any], *, is_known: bool) -> nw.Expr:
    return pair[0] // _not_zero(pair[1], is_known=is_known)


EXACT: Mapping[str, Callable[..., nw.Expr]] = {
    "__mul__": _multiplied, "__rmul__": _multiplied, "__truediv__": _divided, "__rtruediv__": _divided,
    "__mod__": _remainder, "__rmod__": _remainder, "__floordiv__": _whole_quotient, "__rfloordiv__": _whole_quotient,
}  # fmt: skip
"""Functions of two decimals, made so that no digit is lost."""
