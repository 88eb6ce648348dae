"""Expressions of a user, as engines compute them: nothing in them goes wrong in silence.

Inside an expression as at its end a NaN is null, decimals are exact, and an integer that its type does not hold is an
error. What is added stands only where types and ranges of values let one of these happen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import narwhals as nw
import pyarrow as pa
from narwhals._expression_parsing import ExprKind, ExprNode

from penstock import frames
from penstock.expressions import civil_time, decimals, integers
from penstock.expressions.integers import Limits
from penstock.expressions.terms import Term, call, kind_of, unreflected
from penstock.expressions.trees import UNNAMED, columns_in, type_of, walk

_SAFE = {
    "col", "lit", "alias", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__and__", "__or__",
    "__invert__", "is_null", "is_in", "is_between", "all_horizontal", "any_horizontal", "coalesce", "when_then",
    "fill_null", "min_horizontal", "max_horizontal", "concat_str", "clip", "replace_strict",
}  # fmt: skip
"""Functions that create no NaN, integer or decimal; those of texts and times do not either."""
_KEEPS = {"alias", "abs", "__neg__", "floor", "ceil", "round", "exp", "when_then"}
"""Functions that give NaN for NaN alone."""
_PASSES = {
    *_KEEPS, "sqrt", "log", "sin", "cos", "__add__", "__sub__", "__mul__", "__truediv__", "__mod__", "__floordiv__",
    "is_nan", "fill_nan", "is_finite",
}  # fmt: skip
"""Functions that propagate NaN as they do null, or test for it."""
_UNION = {"when_then": 1, "coalesce": 0, "fill_null": 0, "min_horizontal": 0, "max_horizontal": 0}
"""Functions that return one of their operands, with the index of the first such operand."""
_BY_CLOCK: Mapping[str, Callable[..., nw.Expr]] = {
    "dt.offset_by": civil_time.offset_by,
    "dt.truncate": civil_time.truncate,
}
"""Functions of times in a zone, where clocks may skip and repeat an hour."""
_DIVISIONS = ("__truediv__", "__floordiv__", "__mod__")
_BY_ROW = (ExprKind.COL, ExprKind.LITERAL, ExprKind.ELEMENTWISE, ExprKind.WHEN_THEN)


def guarded(
    expression: nw.Expr, schema: pa.Schema, verb: str, *, nan: frozenset[str] = frozenset(), limited: bool = False
) -> tuple[Term, pa.DataType]:
    """Return an expression over the columns of a schema, with what keeps it from going wrong in silence, and its type.

    Parameters
    ----------
    nan : frozenset of str
        Columns that may have NaN, which no dataset has.
    limited : bool
        Whether the limits of an integer are asked for.

    Raises
    ------
    SchemaError
        It does not fit the types, or no decimal holds all digits of a product.

    Examples
    --------
    >>> part, kind = guarded(nw.col("x").sqrt().fill_null(0.0), pa.schema({"x": pa.float64()}), "select")
    >>> frames.from_arrow(pa.table({"x": [-1.0, 4.0]})).select(part.value)["x"].to_list(), kind
    ([0.0, 2.0], DataType(double))
    """
    kind = type_of(expression, schema, verb)
    part = guarded_part(expression, schema, nan=nan, limited=limited)
    return part, type_of(part.expr, schema, verb) if part.is_retyped else kind


def guarded_part(
    expression: nw.Expr, schema: pa.Schema, *, nan: frozenset[str] = frozenset(), limited: bool = False
) -> Term:
    """Return an expression that is known to fit a schema, guarded; see `guarded`."""
    if not (nan or limited) and all(map(_is_safe, walk(expression))):
        return Term(expression)
    guard = _Guard(schema, nan)
    made = guard.cleaned(guard.part(expression))
    return replace(made, is_retyped=guard.is_retyped)


def _is_inexact(divisor: Any) -> bool:
    """Return whether a divisor has no exact inverse: Polars multiplies by it, and 49.0 / 49 would be below 1."""
    return isinstance(divisor, int | float) and math.isfinite(divisor) and abs(math.frexp(divisor)[0]) not in (0, 0.5)


def _as_column(number: float, dividend: nw.Expr, kind: Any) -> nw.Expr:
    """Return a constant as a column, one that has as many rows as the dividend."""
    by_row = all(node.kind in _BY_ROW for node in walk(dividend))
    beside = nw.col(names[0]) if by_row and (names := columns_in(dividend)) else dividend
    return beside.is_null().cast(kind) * 0 + number


def _is_safe(node: ExprNode) -> bool:
    return node.name not in _BY_CLOCK and (node.name in _SAFE or node.name.startswith(("str.", "dt.", "name.")))


_types = lru_cache(maxsize=256)(frames.dtypes)


class _Guard:
    def __init__(self, schema: pa.Schema, nan: frozenset[str]) -> None:
        self._empty, self._types, self._nan = frames.no_rows(schema), _types(schema), nan
        self.is_retyped = False

    def part(self, expression: nw.Expr) -> Term:
        """Return an expression as a term, guarded."""
        first, *others = expression._nodes
        made = self._first(first)
        for node in others:
            made = self._called(node, [made, *self._arguments(node)])
        return made

    def _first(self, node: ExprNode) -> Term:
        if node.exprs:
            return self._called(node, self._arguments(node), is_first=True)
        names: Sequence[str] = node.kwargs.get("names", ()) if node.kind is ExprKind.COL else ()
        kind = self._types.get(names[0]) if len(names) == 1 else None
        made = Term(nw.Expr(node), may_be_nan=any(name in self._nan for name in names), kind=kind)
        return replace(made, kind=nw.Float64()) if isinstance(made.constant, float) else made

    def _arguments(self, node: ExprNode) -> list[Term]:
        made = []
        for each in node.exprs:
            if isinstance(each, str) and not node.str_as_lit:
                each = nw.col(each)
            single = self._singly(each) if node.allow_multi_output and isinstance(each, nw.Expr) else [each]
            made += [self.part(one) if isinstance(one, nw.Expr) else Term(one) for one in single]
        return made

    def _singly(self, expression: nw.Expr) -> list[nw.Expr]:
        """Return an expression over several columns as one for each."""
        first, *others = expression._nodes
        if first.kind not in UNNAMED and len(first.kwargs.get("names", ())) < 2:
            return [expression]
        return [nw.Expr(*nw.col(name)._nodes, *others) for name in self._empty.select(nw.Expr(first)).columns]

    def _called(self, node: ExprNode, operands: list[Term], *, is_first: bool = False) -> Term:
        """Return the term of a function call."""
        name = node.name
        power = name == "__pow__" and isinstance(operands[1].constant, int) and operands[1].constant > 0
        floats = name == "cast" and node.kwargs["dtype"].is_float()
        if not (unreflected(name) in _PASSES or power or floats):
            operands = [self.cleaned(each) for each in operands]
        if name in _BY_CLOCK and civil_time.has_clock_changes(kind := self._type(operands[0])):
            return Term(_BY_CLOCK[name](operands[0].expr, *node.kwargs.values(), kind), kind=kind)
        value, is_nan = call(node, operands, is_first=is_first), self._makes_nan(node, operands, keeps=power)
        made = Term(value, is_nan, kind=kind_of(name, operands))
        if name in _UNION:
            return replace(made, limits=self._union(operands[_UNION[name] :]))
        if name == "cast":
            return self._cast(made, operands[0], node.kwargs["dtype"])
        if name == "round":
            return replace(made, value=decimals.rounded(operands[0].expr, node.kwargs["decimals"]))
        if unreflected(name) in (*integers.CHECKED, *decimals.EXACT):
            return self._exact(made, node, operands, is_first=is_first)
        return made

    def _exact(self, made: Term, node: ExprNode, operands: list[Term], *, is_first: bool) -> Term:
        """Return integers that their type holds or are an error, and decimals with all of their digits."""
        kind, name = self._type(made), unreflected(node.name)
        in_order = operands if name == node.name else operands[::-1]
        if kind.is_float() and node.name in _DIVISIONS and _is_inexact(divisor := operands[1].constant):
            column = Term(_as_column(divisor, operands[0].expr, kind))
            return replace(made, value=call(node, [operands[0], column]))
        if kind.is_decimal() and name in decimals.EXACT:
            left, right = in_order
            kinds = [self._type(each) for each in in_order]
            self.is_retyped = True
            exact = decimals.exact(name, left.expr, right.expr, kinds, may_be_zero=not right.is_finite(but_zero=True))
            return Term(exact, kind=self._asked(exact))
        if not kind.is_integer() or name not in integers.CHECKED:
            return made
        known = [self._limits(each) for each in in_order]
        limits = None if None in known else integers.CHECKED[name](known)  # type: ignore[arg-type]
        if limits is not None and integers.hold(kind, limits):
            return replace(made, limits=limits)
        if limits is None:  # no type holds all of them
            estimate = call(node, [replace(each, value=each.expr.cast(nw.Float64)) for each in operands])
            return Term(made.value + estimate.cast(kind) * 0, kind=kind)
        wide = integers.wide([limits, *known])
        widened = [
            replace(each, value=each.value.cast(wide)) if isinstance(each.value, nw.Expr) else each for each in operands
        ]
        if node.name == "__neg__":  # which Polars has not for 128 bits
            return Term((0 - widened[0].expr).cast(kind), kind=kind)
        return Term(call(node, widened, is_first=is_first).cast(kind), kind=kind)

    def _cast(self, made: Term, before: Term, wanted: Any) -> Term:
        made = replace(made, kind=wanted() if isinstance(wanted, type) else wanted)
        kind = self._type(before) if wanted.is_float() or wanted.is_integer() or wanted.is_decimal() else None
        if wanted.is_decimal():
            return replace(made, value=decimals.cast(before.expr, kind, made.kind))
        if wanted.is_integer() and (limits := self._limits(before)) is not None:
            return replace(made, limits=limits if integers.hold(wanted, limits) else None)
        return replace(made, may_be_nan=before.may_be_nan or kind == nw.String)

    def _makes_nan(self, node: ExprNode, operands: list[Term], *, keeps: bool) -> bool:
        any_is = any(each.may_be_nan for each in operands)
        if node.name in _KEEPS or keeps or any_is:
            return any_is and node.name not in ("fill_nan", "is_nan", "is_finite")
        if node.name in ("__add__", "__sub__", "__radd__", "__rsub__"):
            return not any(each.is_finite() for each in operands)
        if node.name in ("__mul__", "__rmul__", "__truediv__", "__rtruediv__"):
            right = operands if "mul" in node.name else operands[1:]
            return not any(each.is_finite(but_zero=True) for each in right)
        return not _is_safe(node) and node.name not in ("cast", "is_nan", "fill_nan", "is_finite")

    def cleaned(self, part: Term) -> Term:
        """Return a part with null for NaN."""
        if not part.may_be_nan or not self._type(part).is_float():
            return part
        return replace(part, value=part.expr.fill_nan(None), may_be_nan=False)

    def _type(self, part: Term) -> Any:
        return self._asked(part.expr) if part.kind is None else part.kind

    def _asked(self, expression: nw.Expr) -> Any:
        return next(iter(self._empty.lazy().select(expression).collect_schema().values()))

    def _limits(self, part: Term) -> Limits | None:
        return part.known_limits or integers.limits(self._type(part))

    def _union(self, parts: Sequence[Term]) -> Limits | None:
        """Return the limits of what is one of several integers; None of any other."""
        known = [each.known_limits for each in parts]
        if None in known:
            return None
        return min(low for low, _ in known), max(high for _, high in known)  # type: ignore[misc]
