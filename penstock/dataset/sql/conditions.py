"""Conditions, which are true, false or, where a NULL leaves it open, NULL."""

from __future__ import annotations

import datetime
import operator
import re
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import narwhals as nw
import pyarrow as pa
from sqlglot import exp

from penstock.dataset.sql import values as sql
from penstock.dataset.sql.literals import text
from penstock.dataset.sql.refusals import refused, shown
from penstock.dataset.sql.values import BOOL, Handler, Translate, Value, as_kind

_COMPARISONS: Mapping[type, Callable[[Any, Any], nw.Expr]] = {
    exp.EQ: operator.eq, exp.NEQ: operator.ne, exp.LT: operator.lt, exp.LTE: operator.le, exp.GT: operator.gt,
    exp.GTE: operator.ge,
}  # fmt: skip


def truth(node: exp.Expr, value: Translate) -> nw.Expr:
    """Return a condition as an expression; a NULL by itself is one.

    Raises
    ------
    ConfigError
        It is none.
    """
    made = value(node)
    if pa.types.is_null(made.kind):
        return nw.lit(None, nw.Boolean)
    if made.kind != BOOL:
        raise refused(node, f"{shown(node)} is {made.kind}, expected a condition", "Compare it with something: x <> 0.")
    return made.expr


def compare(how: Callable[[Any, Any], nw.Expr], left: Value, right: Value, node: exp.Expr) -> nw.Expr:
    """Return a comparison of two values, of which a NULL makes NULL."""
    if pa.types.is_null(left.kind) or pa.types.is_null(right.kind):
        return nw.lit(None, nw.Boolean)
    left, right = _as_shown(left, right), _as_shown(right, left)
    kind = sql.common_kind([left, right], node)
    if pa.types.is_nested(kind):
        raise refused(node, f"{kind} cannot be compared, in {shown(node)}", "Compare a part of it.")
    if sql.is_number(kind):
        return how(_compared(left, right), _compared(right, left))
    _, (mine, its) = sql.together([left, right], node)
    return how(mine, its)


def _as_shown(value: Value, other: Value) -> Value:
    """Return what clocks in its zone show at a time, where it is compared with a day, which has no zone."""
    if pa.types.is_date(other.kind) and pa.types.is_timestamp(value.kind) and value.kind.tz is not None:
        return Value(value.expr.dt.replace_time_zone(None), pa.timestamp(value.kind.unit))
    return value


def _compared(value: Value, other: Value) -> nw.Expr:
    """Return a number as it is compared with another: without a cast where engines agree on what it is."""
    if value.literal is None or other.literal is not None:
        mixed = pa.types.is_decimal(value.kind) and pa.types.is_floating(other.kind) and other.literal is None
        return value.expr.cast(nw.Float64) if mixed else value.expr
    if isinstance(value.literal, int) and pa.types.is_integer(other.kind) and sql.fits(value.literal, other.kind):
        return nw.lit(value.literal)
    return as_kind(value, sql.common_kind([value, other], exp.Null()))


def _comparison(node: exp.Binary, value: Translate) -> Value:
    return Value(compare(_COMPARISONS[type(node)], value(node.left), value(node.right), node), BOOL)


def _connected(node: exp.And | exp.Or, value: Translate) -> Value:
    how = operator.and_ if isinstance(node, exp.And) else operator.or_
    return Value(how(truth(node.left, value), truth(node.right, value)), BOOL)


def _not(node: exp.Not, value: Translate) -> Value:
    return Value(~truth(node.this, value), BOOL)


def _between(node: exp.Between, value: Translate) -> Value:
    made = value(node.this)
    low, high = value(node.args["low"]), value(node.args["high"])
    return Value(compare(operator.ge, made, low, node) & compare(operator.le, made, high, node), BOOL)


def _in(node: exp.In, value: Translate) -> Value:
    made, members = value(node.this), [value(each) for each in node.expressions]
    if not members:
        raise refused(node, f"{shown(node)} has no list of values", "Write x IN (1, 2).")
    known = [sql.of_kind(each, made.kind, node) for each in members]
    if made.literal is None and all(_is_plain(each, made.kind) for each in known):
        for each in known:
            sql.common_kind([made, each], node)
        return Value(made.expr.is_in([each.literal for each in known]), BOOL)
    return Value(reduce(operator.or_, (compare(operator.eq, made, each, node) for each in members)), BOOL)


def _is_plain(member: Value, kind: pa.DataType) -> bool:
    if isinstance(member.literal, bool):
        return False
    if isinstance(member.literal, int):
        return bool(pa.types.is_integer(kind)) and sql.fits(member.literal, kind)
    return isinstance(member.literal, str | datetime.date) and member.kind == kind


def _is(node: exp.Is, value: Translate) -> Value:
    wanted = node.expression
    if node.args.get("negate"):
        return Value(~_is(exp.Is(this=node.this, expression=wanted), value).expr, BOOL)
    if isinstance(wanted, exp.Null):
        return Value(value(node.this).expr.is_null(), BOOL)
    if not isinstance(wanted, exp.Boolean):
        raise refused(node, f"{shown(node)} is not known", "IS takes NULL, TRUE, FALSE, or DISTINCT FROM.")
    known = truth(node.this, value)
    return Value(nw.coalesce(known if wanted.this else ~known, nw.lit(False)), BOOL)


def _distinct(node: exp.Binary, value: Translate) -> Value:
    left, right = value(node.left), value(node.right)
    differ = compare(operator.ne, left, right, node)
    missing = left.expr.is_null() | right.expr.is_null()
    made = nw.when(missing).then(left.expr.is_null() != right.expr.is_null()).otherwise(differ)
    return Value(made if isinstance(node, exp.NullSafeNEQ) else ~made, BOOL)


def _escape(node: exp.Escape, value: Translate) -> Value:
    like, escape = node.this, text(node.expression, "ESCAPE")
    if not isinstance(like, exp.Like | exp.ILike) or len(escape) != 1:
        raise refused(node, f"{shown(node)} is not known", "Write x LIKE 'a#%' ESCAPE '#', with one character.")
    return _like(like, value, escape)


def _like(node: exp.Like | exp.ILike, value: Translate, escape: str = "") -> Value:
    pattern, ignore_case = text(node.expression, node.key.upper()), isinstance(node, exp.ILike)
    matched = _matched(value(node.this), pattern, escape, node, ignore_case=ignore_case)
    return Value(~matched if node.args.get("negate") else matched, BOOL)


def _matched(made: Value, pattern: str, escape: str, node: exp.Expr, *, ignore_case: bool = False) -> nw.Expr:
    if pa.types.is_null(made.kind):
        return nw.lit(None, nw.Boolean)
    if made.kind != pa.string():
        raise sql.unlike(made.kind, pa.string(), node)
    inner = pattern.strip("%")
    if escape or ignore_case or "_" in pattern or "%" in inner:
        return made.expr.str.contains(_regex(pattern, escape, node, ignore_case=ignore_case))
    if not inner and pattern:
        return ~made.expr.is_null() | nw.lit(None, nw.Boolean)
    starts, ends = not pattern.startswith("%"), not pattern.endswith("%")
    if starts and ends:
        return made.expr == nw.lit(pattern)
    if starts:
        return made.expr.str.starts_with(inner)
    return made.expr.str.ends_with(inner) if ends else made.expr.str.contains(inner, literal=True)


def _regex(pattern: str, escape: str, node: exp.Expr, *, ignore_case: bool) -> str:
    parts, characters = [], iter(pattern)
    for each in characters:
        if each == escape:
            following = next(characters, None)
            if following is None:
                raise refused(node, f"{pattern!r} ends with its escape character", "Write it twice, for itself.")
            parts.append(re.escape(following))
        else:
            parts.append({"%": ".*", "_": "."}.get(each, re.escape(each)))
    return f"(?s{'i' if ignore_case else ''})^{''.join(parts)}$"


def _case(node: exp.Case, value: Translate) -> Value:
    subject = None if node.this is None else value(node.this)
    tests = [
        truth(each.this, value) if subject is None else compare(operator.eq, subject, value(each.this), each)
        for each in node.args["ifs"]
    ]
    otherwise = node.args.get("default")
    return _chosen(tests, [each.args["true"] for each in node.args["ifs"]], otherwise, node, value)


def _if(node: exp.If, value: Translate) -> Value:
    return _chosen([truth(node.this, value)], [node.args["true"]], node.args.get("false"), node, value)


def _chosen(
    tests: list[nw.Expr], results: list[exp.Expr], otherwise: exp.Expr | None, node: Any, value: Translate
) -> Value:
    values = [value(each) for each in [*results, otherwise or exp.Null()]]
    kind, (*made, last) = sql.together(values, node)
    if pa.types.is_null(kind):
        return values[-1]
    for test, result in zip(reversed(tests), reversed(made), strict=True):
        last = nw.when(test).then(result).otherwise(last)
    return Value(last, kind)


def _coalesce(node: exp.Coalesce, value: Translate) -> Value:
    kind, made = sql.together([value(each) for each in [node.this, *node.expressions]], node)
    return Value(nw.coalesce(*made), kind)


def _nullif(node: exp.Nullif, value: Translate) -> Value:
    made = value(node.this)
    equal = compare(operator.eq, made, value(node.expression), node)
    return Value(nw.when(equal).then(nw.lit(None, None)).otherwise(made.expr), made.kind)


CONDITIONS: Mapping[type, Handler] = {
    **dict.fromkeys(_COMPARISONS, _comparison), exp.And: _connected, exp.Or: _connected, exp.Not: _not,
    exp.Between: _between, exp.In: _in, exp.Is: _is, exp.NullSafeEQ: _distinct, exp.NullSafeNEQ: _distinct,
    exp.Like: _like, exp.ILike: _like, exp.Escape: _escape, exp.Case: _case, exp.If: _if, exp.Coalesce: _coalesce,
    exp.Nullif: _nullif,
}  # fmt: skip
