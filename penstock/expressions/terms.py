"""Terms of an expression with their types, limits of values, and whether NaN can occur."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals as nw
from narwhals._expression_parsing import ExprNode

from penstock.expressions.integers import Limits, hold
from penstock.expressions.trees import with_exprs

_WHOLE = {"abs", "__neg__", "__add__", "__sub__", "__mul__", "fill_null", "coalesce", "when_then"}
"""Functions with an integer result for integers of one type."""
_SAME = {
    *_WHOLE, "sqrt", "log", "exp", "sin", "cos", "floor", "ceil", "round", "fill_nan", "alias", "__mod__",
    "__floordiv__", "__truediv__",
}  # fmt: skip
"""Functions with a float64 result for float64, also mixed with integers."""


@dataclass(frozen=True)
class Term:
    """A term of an expression.

    Parameters
    ----------
    value : narwhals.Expr, or a constant
    may_be_nan : bool
    limits : tuple of int, optional
        The least and the greatest value of an integer, where they are narrower than those of its type.
    kind : narwhals.dtypes.DType, optional
        Its type, where that need not be asked for.
    is_retyped : bool
        Whether decimals in it have other digits than those of the expression that was given.
    """

    value: Any
    may_be_nan: bool = False
    limits: Limits | None = None
    kind: Any = None
    is_retyped: bool = False

    @property
    def constant(self) -> Any:
        """The value of a constant; None of anything else."""
        if not isinstance(self.value, nw.Expr):
            return self.value
        node, *more = self.value._nodes
        return node.kwargs["value"] if node.name == "lit" and not more else None

    @property
    def known_limits(self) -> Limits | None:
        """Minimum and maximum of an integer, where they are narrower than its type."""
        number = self.constant
        return (int(number), int(number)) if isinstance(number, int) else self.limits

    @property
    def fits_others(self) -> bool:
        """Whether it is an integer that has no type of its own."""
        typed = isinstance(self.value, nw.Expr) and self.value._nodes[0].kwargs.get("dtype") is not None
        return isinstance(self.constant, int) and not (typed or isinstance(self.constant, bool))

    @property
    def expr(self) -> nw.Expr:
        """The part as an expression."""
        return self.value if isinstance(self.value, nw.Expr) else nw.lit(self.value)

    def is_finite(self, *, but_zero: bool = False) -> bool:
        """Return whether it is a finite number that stands in the expression."""
        number = self.constant
        known = isinstance(number, int | float | Decimal) and math.isfinite(number)
        return known and not (but_zero and number == 0)


def unreflected(name: str) -> str:
    """Return the unreflected name of an operator: ``__sub__`` for ``__rsub__``."""
    return name.replace("__r", "__")


def kind_of(name: str, operands: Sequence[Term]) -> Any:
    """Return the type that a function of plain numbers gives; None where that is to be asked for."""
    values = operands[1:] if name == "when_then" else operands
    kinds = {nw.Float64() if isinstance(each.constant, float) else each.kind for each in values if not each.fits_others}
    if None in kinds or unreflected(name) not in _SAME:
        return None
    if nw.Float64() in kinds and all(kind == nw.Float64 or kind.is_integer() for kind in kinds):
        return nw.Float64()
    (kind, *others) = kinds or {None}
    whole = kind is not None and not others and kind.is_integer() and unreflected(name) in _WHOLE
    literals = [each.constant for each in values if each.fits_others]
    return kind if whole and all(hold(kind, (each, each)) for each in literals) else None


def call(node: ExprNode, operands: Sequence[Term], *, is_first: bool = False) -> nw.Expr:
    """Return a function of operands, of which the first is what it is called on."""
    if is_first:
        return nw.Expr(with_exprs(node, [each.value for each in operands]))
    on, *others = operands
    return nw.Expr(*on.expr._nodes, with_exprs(node, [each.value for each in others]))
