"""Values of rows as text: numbers, texts, dates and conditions, in the language of conditions with functions added.

``a if condition else b``, ``coalesce``, ``min`` and ``max``, slices of texts and the functions of `FUNCTIONS` are
allowed besides what a condition may be.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError, SchemaError, class_name
from penstock.core.schemas import require
from penstock.expressions.nodes import Operand, Translator
from penstock.expressions.parsing import body, check_operands, check_reads, empty_frame, type_of


class Function(NamedTuple):
    """A function of the language: what its arguments have to be, what it gives, and whether that may be NaN.

    An argument is a ``number``, a ``string``, a ``date``, a ``timestamp``, or a ``text`` between quotes.
    """

    arguments: tuple[str, ...]
    build: Callable[..., nw.Expr]
    makes_nan: bool = False


FUNCTIONS: Mapping[str, Function] = {
    "lower": Function(("string",), lambda text: text.str.to_lowercase()),
    "upper": Function(("string",), lambda text: text.str.to_uppercase()),
    "strip": Function(("string",), lambda text: text.str.strip_chars()),
    "replace": Function(
        ("string", "text", "text"), lambda text, old, new: text.str.replace_all(old, new, literal=True) if old else text
    ),
    "contains": Function(("string", "text"), lambda text, part: text.str.contains(part, literal=True)),
    "startswith": Function(("string", "text"), lambda text, part: text.str.starts_with(part)),
    "endswith": Function(("string", "text"), lambda text, part: text.str.ends_with(part)),
    "floor": Function(("number",), lambda number: number.floor(), makes_nan=True),
    "ceil": Function(("number",), lambda number: number.ceil(), makes_nan=True),
    "sqrt": Function(("number",), lambda number: number.sqrt(), makes_nan=True),
    "log": Function(("number",), lambda number: number.log(), makes_nan=True),
    "exp": Function(("number",), lambda number: number.exp(), makes_nan=True),
    "float": Function(("number",), lambda number: number, makes_nan=True),
    "year": Function(("date",), lambda day: day.dt.year()),
    "month": Function(("date",), lambda day: day.dt.month()),
    "day": Function(("date",), lambda day: day.dt.day()),
    "weekday": Function(("date",), lambda day: day.dt.weekday()),
    "hour": Function(("timestamp",), lambda moment: moment.dt.hour()),
    "minute": Function(("timestamp",), lambda moment: moment.dt.minute()),
    "second": Function(("timestamp",), lambda moment: moment.dt.second()),
    "date": Function(("timestamp",), lambda moment: moment.dt.date()),
}
_OF_SEVERAL: Mapping[str, Callable[..., nw.Expr]] = {
    "coalesce": nw.coalesce,
    "min": nw.min_horizontal,
    "max": nw.max_horizontal,
    "concat": nw.concat_str,
}
HINT = (
    "Allowed are columns, numbers, strings, + - * / % **, comparisons, and, or, not, in (...), is None, a if c else b,"
    f" s[0:3], abs, len, {', '.join((*_OF_SEVERAL, *FUNCTIONS))}; a column with an odd name stands between backticks."
)


@dataclass(frozen=True)
class ValueExpression:
    """A parsed expression.

    Attributes
    ----------
    text : str
        As it was written.
    columns : tuple of str
        The columns it reads, in the order in which they stand there.
    expr : narwhals.Expr
    operands : tuple of Operand
        Its parts, inner ones first, with the type each has to be of.
    alike : tuple of tuple of Operand
        Parts that have to be of one type, or all numbers.
    """

    text: str
    columns: tuple[str, ...]
    expr: nw.Expr = field(repr=False)
    operands: tuple[Operand, ...] = field(repr=False)
    alike: tuple[tuple[Operand, ...], ...] = field(repr=False)

    def check(self, schema: pa.Schema, *, stage: str | None = None) -> pa.DataType:
        """Return the type that comes out; raise SchemaError unless the columns are there, of types that suit.

        Examples
        --------
        >>> parse_value("x / y").check(pa.schema({"x": pa.int8(), "y": pa.float32()}))
        DataType(double)
        >>> parse_value("coalesce(x, s)").check(pa.schema({"x": pa.int8(), "s": pa.string()}))
        Traceback (most recent call last):
        penstock.errors.SchemaError: 'x' is Int8 and 's' String, expected one type, in the expression 'coalesce(x, s)'
        """
        require(schema, self.columns, stage=stage)
        empty, what = empty_frame(schema, self.columns), f"expression {self.text!r}"
        check_operands(self.operands, empty, what, stage)
        for parts in self.alike:
            _check_alike([(part.text, type_of(part, empty, stage)) for part in parts], what, stage)
        check_width(what, type_of(Operand(self.text, "", self.expr), empty, stage), stage)
        return frames.to_arrow(empty.select(self.expr.alias("value"))).schema.field("value").type

    def values(self, frame: nw.DataFrame[Any], name: str) -> nw.DataFrame[Any]:
        """Return the values as a frame of one column; a NaN is null."""
        return frames.nan_to_null(frame.with_columns(self.expr.alias(name)).select(name))


def check_width(what: str, dtype: Any, stage: str | None = None) -> None:
    """Raise SchemaError for integers of 128 bits, which Polars makes of int64 and uint64, and Arrow has not."""
    if dtype in (nw.Int128, nw.UInt128):
        hint = "Cast the uint64 column to int64 before, or both to float64."
        raise SchemaError(f"the {what} is {dtype}, of int64 and uint64 together", hint=hint, stage=stage)


def _check_alike(parts: list[tuple[str, Any]], what: str, stage: str | None) -> None:
    (first, kind), *others = [part for part in parts if part[1] != nw.Unknown] or parts  # that of nothing but null
    for text, other in others:
        if other != kind and not (kind.is_numeric() and other.is_numeric()):
            raise SchemaError(
                f"{first!r} is {kind} and {text!r} {other}, expected one type, in the {what}", stage=stage
            )


def parse_value(text: str) -> ValueExpression:
    """Return the expression that `text` says; nothing in it is run.

    ``+ - * / **`` are of float64, and so are ``abs``, ``floor``, ``ceil``, ``sqrt``, ``log`` and ``exp``. A column by
    itself, and one of ``coalesce``, ``min``, ``max`` or ``if ... else``, keeps its type; whole constants there are
    int64. Null makes null, but in ``is None``, ``coalesce``, and in ``min`` and ``max``, which leave it out; conditions
    follow three-valued logic, and ``else`` also takes what is open. What has no value (0 / 0) is null.

    Raises
    ------
    ConfigError
        It is no text; something in it is not allowed, with its position; or it reads no column at all.

    Examples
    --------
    >>> value = parse_value("coalesce(x / y, 0) if t[0:2] == 'km' else x * 1.609344")
    >>> frame = frames.from_arrow(pa.table({"x": [3.0, 1.0, 2.0], "y": [2.0, None, 1.0], "t": ["km", "km/h", "mi"]}))
    >>> value.columns, value.values(frame, "v")["v"].to_list()
    (('x', 'y', 't'), [1.5, 0.0, 3.218688])
    """
    if not isinstance(text, str):
        raise ConfigError(f"an expression is {class_name(text)}, expected text", hint='Write "x / y".')
    return _parsed(text)


@lru_cache(maxsize=256)
def _parsed(text: str) -> ValueExpression:
    translator = ValueTranslator(text)
    expr = translator.part(body(translator, text))
    check_reads(translator, text)
    operands, alike = tuple(translator.operands), tuple(translator.alike)
    return ValueExpression(text, tuple(translator.columns), expr, operands, alike)


class ValueTranslator(Translator):
    """Turns the nodes of one text into expressions; notes too which parts have to be of one type."""

    noun, article = "expression", "an"
    hint = HINT

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.alike: list[tuple[Operand, ...]] = []

    def part(self, node: ast.expr) -> nw.Expr:
        """Return a value that stands by itself: NaN is null there, and a whole constant is int64."""
        match node:
            case ast.Constant(None):
                return nw.lit(None)
            case ast.Constant(int()) | ast.UnaryOp(ast.USub(), ast.Constant(int())) if not _is_bool(node):
                return nw.lit(self._constant(node), nw.Int64)
        return self._whole(node)

    def value(self, node: ast.expr) -> nw.Expr:
        match node:
            case ast.IfExp(test, yes, no):
                return self._chosen(test, yes, no)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(ast.Not()):
                truth = self.condition(node)
                return nw.when(truth.holds).then(nw.lit(True)).otherwise(nw.when(truth.fails).then(nw.lit(False)))
            case ast.Subscript(text, ast.Slice(start, stop, None)):
                return self._slice(node, text, start, stop)
            case ast.Call(ast.Name(name), [_, _, *_] as arguments, []) if name in _OF_SEVERAL:
                return self._of_several(name, arguments)
            case ast.Call(ast.Name(name), arguments, []) if name in FUNCTIONS:
                return self._called(node, FUNCTIONS[name], arguments)
        return super().value(node)

    def is_arithmetic(self, node: ast.expr) -> bool:
        match node:
            case ast.UnaryOp(ast.Not()):
                return False
            case ast.Call(ast.Name(name)) if name in FUNCTIONS:
                return FUNCTIONS[name].makes_nan
        return super().is_arithmetic(node)

    def _chosen(self, test: ast.expr, yes: ast.expr, no: ast.expr) -> nw.Expr:
        """Return a choice; None is what one without a second value gives: cuDF takes a constant null for a text."""
        taken, otherwise = self._parts([yes, no])
        holds = self.condition(test).holds
        if _is_none(yes):
            return nw.when(~holds).then(otherwise)
        return nw.when(holds).then(taken) if _is_none(no) else nw.when(holds).then(taken).otherwise(otherwise)

    def _parts(self, nodes: list[ast.expr]) -> list[nw.Expr]:
        values = [self.part(node) for node in nodes]
        known = [(node, value) for node, value in zip(nodes, values, strict=True) if not _is_none(node)]
        self.alike.append(tuple(Operand(self._segment(node), "", value) for node, value in known))
        return values

    def _of_several(self, name: str, nodes: list[ast.expr]) -> nw.Expr:
        if name == "concat":
            return nw.concat_str([self._noted(node, "string", self.part(node)) for node in nodes])
        parts = self._parts(nodes)
        known = [part for node, part in zip(nodes, parts, strict=True) if not _is_none(node)]
        return _OF_SEVERAL[name](*known or parts)

    def _called(self, node: ast.Call, function: Function, arguments: list[ast.expr]) -> nw.Expr:
        if len(arguments) != len(function.arguments):
            raise self._refusal(node, f"{len(arguments)} argument(s) for {len(function.arguments)}")
        pairs = zip(arguments, function.arguments, strict=True)
        return function.build(*[self._argument(argument, kind) for argument, kind in pairs])

    def _argument(self, node: ast.expr, kind: str) -> Any:
        if kind == "text":
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                raise self._refusal(node, "an argument that is no text between quotes")
            return node.value
        return self._float(node) if kind == "number" else self._noted(node, kind, self.value(node))

    def _slice(self, node: ast.expr, text: ast.expr, start: ast.expr | None, stop: ast.expr | None) -> nw.Expr:
        first, last = (None if each is None else self._constant(each) for each in (start, stop))
        begin, end = first or 0, last
        whole = all(type(each) is int for each in (first, last) if each is not None)
        if not whole or (end is not None and not 0 <= begin <= end):
            raise self._refusal(node, "a slice that is not [start:stop] from the front, or [start:]")
        value = self._noted(text, "string", self.value(text))
        return value.str.slice(begin, None if end is None else end - begin)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_bool(node: ast.expr) -> bool:
    constant = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(constant, ast.Constant) and isinstance(constant.value, bool)
