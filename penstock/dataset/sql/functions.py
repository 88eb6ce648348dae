"""Functions of texts and numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial

import narwhals as nw
import pyarrow as pa
from sqlglot import exp

from penstock.core.errors import did_you_mean
from penstock.dataset.sql.arithmetic import numbers
from penstock.dataset.sql.dates import volatile
from penstock.dataset.sql.literals import text, whole
from penstock.dataset.sql.refusals import refused, shown
from penstock.dataset.sql.values import BOOL, FLOAT, INT, TEXT, Handler, Translate, Value, as_kind, dtype, together

_TEXTS: Mapping[type, Callable[[nw.Expr], nw.Expr]] = {
    exp.Upper: lambda made: made.str.to_uppercase(),
    exp.Lower: lambda made: made.str.to_lowercase(),
}
_NUMBERS: Mapping[type, Callable[[nw.Expr], nw.Expr]] = {
    exp.Sqrt: lambda made: made.sqrt(), exp.Exp: lambda made: made.exp(), exp.Ln: lambda made: made.log(),
    exp.Floor: lambda made: made.floor(), exp.Ceil: lambda made: made.ceil(),
}  # fmt: skip
_VOLATILE = ("now", "today", "random", "uuid", "gen_random_uuid")
KNOWN = (
    "abs", "avg", "ceil", "coalesce", "concat", "contains", "count", "date_trunc", "day", "ends_with", "exp", "extract",
    "floor", "greatest", "hour", "if", "least", "left", "length", "ln", "lower", "max", "median", "min", "minute",
    "month", "nullif", "power", "replace", "round", "second", "sqrt", "starts_with", "stddev", "stddev_pop",
    "substring", "sum", "trim", "upper", "var_pop", "variance", "year",
)  # fmt: skip


def _text(made: Value, node: exp.Expr) -> nw.Expr:
    if made.kind != TEXT and not pa.types.is_null(made.kind):
        raise refused(node, f"{shown(node)} takes a text, found {made.kind}", "Cast it: CAST(x AS VARCHAR).")
    return as_kind(made, TEXT)


def _of_text(node: exp.Func, value: Translate) -> Value:
    return Value(_TEXTS[type(node)](_text(value(node.this), node)), TEXT)


def _of_number(node: exp.Func, value: Translate) -> Value:
    if node.args.get("decimals") is not None or node.args.get("to") is not None:
        raise refused(node, f"{shown(node)} takes one argument", "Write round(x, 2) for digits.")
    made = value(node.this)
    numbers(node, made)
    if pa.types.is_decimal(made.kind) and isinstance(node, exp.Floor | exp.Ceil):
        kind = pa.decimal128(38, 0)
        return Value(_NUMBERS[type(node)](made.expr).cast(dtype(kind)), kind)
    return Value(_NUMBERS[type(node)](as_kind(made, FLOAT)), FLOAT)


def _length(node: exp.Length, value: Translate) -> Value:
    return Value(_text(value(node.this), node).str.len_chars().cast(nw.Int64), INT)


def _trim(node: exp.Trim, value: Translate) -> Value:
    if node.args.get("position") is not None or node.args.get("expression") is not None:
        problem = f"{shown(node)} is not known"
        raise refused(node, problem, "trim(x) takes blanks off both ends; for others use replace.")
    return Value(_text(value(node.this), node).str.strip_chars(" "), TEXT)


def _substring(node: exp.Substring, value: Translate) -> Value:
    first = 1 if node.args.get("start") is None else whole(node.args["start"], "substring")
    length = node.args.get("length")
    count = None if length is None else whole(length, "substring")
    if first < 1 or (count or 0) < 0:
        raise refused(node, f"{shown(node)} begins before the text", "Places count from 1, and lengths from 0.")
    return Value(_text(value(node.this), node).str.slice(first - 1, count), TEXT)


def _left(node: exp.Left, value: Translate) -> Value:
    count = whole(node.expression, "left")
    if count < 0:
        raise refused(node, f"{shown(node)} has a negative length", "Lengths count from 0.")
    return Value(_text(value(node.this), node).str.slice(0, count), TEXT)


def _replace(node: exp.Replace, value: Translate) -> Value:
    old, new = text(node.expression, "replace"), text(node.args.get("replacement"), "replace")
    made = _text(value(node.this), node)
    return Value(made.str.replace_all(old, new, literal=True) if old else made, TEXT)


def _part(how: str, node: exp.Func, value: Translate) -> Value:
    pattern = text(node.args["expression"], how)
    made = _text(value(node.this), node)
    if how == "contains":
        return Value(made.str.contains(pattern, literal=True), BOOL)
    return Value(made.str.starts_with(pattern) if how == "starts_with" else made.str.ends_with(pattern), BOOL)


def _joined(node: exp.DPipe, value: Translate) -> Value:
    return Value(nw.concat_str([_text(value(each), node) for each in (node.left, node.right)]), TEXT)


def _concat(node: exp.Concat, value: Translate) -> Value:
    parts = [nw.coalesce(_text(value(each), node), nw.lit("")) for each in node.expressions]
    return Value(nw.concat_str(parts), TEXT)


def _absolute(node: exp.Abs, value: Translate) -> Value:
    made = value(node.this)
    numbers(node, made)
    if pa.types.is_integer(made.kind):
        return Value(as_kind(made, INT).abs(), INT)
    if pa.types.is_decimal(made.kind):
        return Value(made.expr.abs(), made.kind)
    return Value(as_kind(made, FLOAT).abs(), FLOAT)


def _rounded(node: exp.Round, value: Translate) -> Value:
    """Return a number rounded, a half away from zero."""
    digits = 0 if node.args.get("decimals") is None else whole(node.args["decimals"], "round")
    made = value(node.this)
    numbers(node, made)
    scale = 0 if pa.types.is_integer(made.kind) else made.kind.scale if pa.types.is_decimal(made.kind) else None
    if scale is not None and digits >= scale:
        return made
    if scale is None:
        unit = 10.0 ** max(0, -digits)
        number = as_kind(made, FLOAT)
        return Value(number.round(digits) if digits >= 0 else (number / unit).round(0) * unit, FLOAT)
    kind = pa.decimal128(38, max(0, digits))
    if digits >= 0:
        return Value(made.expr.cast(dtype(kind)), kind)
    tens = made.expr.cast(dtype(pa.decimal128(38, scale))) * nw.lit(Decimal(1).scaleb(digits))
    whole_tens = tens.cast(dtype(kind)) * 10**-digits
    return Value(whole_tens.cast(nw.Int64), INT) if pa.types.is_integer(made.kind) else Value(whole_tens, kind)


def _power(node: exp.Pow, value: Translate) -> Value:
    base, exponent = value(node.this), value(node.expression)
    numbers(node, base, exponent)
    return Value(as_kind(base, FLOAT) ** as_kind(exponent, FLOAT), FLOAT)


def _extreme(node: exp.Func, value: Translate) -> Value:
    kind, made = together([value(each) for each in [node.this, *node.expressions]], node)
    how = nw.max_horizontal if isinstance(node, exp.Greatest) else nw.min_horizontal
    return Value(how(*made), kind)


def _unknown(node: exp.Anonymous, value: Translate) -> Value:
    name = str(node.this)
    if name.lower() in _VOLATILE:
        raise volatile(node)
    hint = f"Functions are: {', '.join(KNOWN)}. What they do not say, dataset.with_columns or map_partitions does."
    raise refused(node, f"there is no function {name!r}.{did_you_mean(name, KNOWN)}", hint)


FUNCTIONS: Mapping[type, Handler] = {
    **dict.fromkeys(_TEXTS, _of_text), **dict.fromkeys(_NUMBERS, _of_number), exp.Length: _length, exp.Trim: _trim,
    exp.Substring: _substring, exp.Left: _left, exp.Replace: _replace, exp.StartsWith: partial(_part, "starts_with"),
    exp.EndsWith: partial(_part, "ends_with"), exp.Contains: partial(_part, "contains"), exp.DPipe: _joined,
    exp.Concat: _concat, exp.Abs: _absolute, exp.Round: _rounded, exp.Pow: _power, exp.Greatest: _extreme,
    exp.Least: _extreme, exp.Anonymous: _unknown,
}  # fmt: skip
