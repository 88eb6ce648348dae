"""The nodes of a condition's syntax tree, turned into Narwhals expressions one by one."""

from __future__ import annotations

import ast
import operator
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw

from penstock.core.errors import ConfigError

HINT = (
    "Allowed are comparisons, and, or, not, + - * / % **, in (...), is None, abs(), len(), numbers, strings, True and"
    " False; a column with an odd name stands between backticks."
)
COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], nw.Expr]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt,
    ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], nw.Expr]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}  # fmt: skip
_MIRRORED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE,
}  # fmt: skip
_STRING_OR_NAME = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]+`""")


_KINDS: Mapping[str, tuple[Any, ...]] = {
    "condition": (nw.Boolean,), "string": (nw.String,), "date": (nw.Date, nw.Datetime), "timestamp": (nw.Datetime,),
}  # fmt: skip


@dataclass(frozen=True)
class Operand:
    """A part of an expression, and what it has to be.

    That is a ``condition``, a ``number``, a ``string``, a ``date`` (a timestamp is one too) or a ``timestamp``.
    """

    text: str
    kind: str
    value: nw.Expr

    def fits(self, dtype: nw.dtypes.DType) -> bool:
        """Return whether a value of this type can stand here."""
        if self.kind == "number":
            return dtype.is_numeric()
        return dtype in _KINDS[self.kind]


def _plain_name(match: re.Match[str]) -> str:
    """Stand in for a name between backticks by one as long, so that positions stay; strings are left alone."""
    token = match.group()
    return "_" * len(token) if token.startswith("`") else token


class Truth(NamedTuple):
    """A condition as two expressions without nulls, so that three-valued logic is the same in every library."""

    holds: nw.Expr
    fails: nw.Expr


def _truth(value: nw.Expr, *columns: nw.Expr) -> Truth:
    """Return what holds and what fails; neither does where one of the columns that are compared is null.

    That null gives null is not enough: in cuDF strings that are all null are unequal to any other.
    """
    known = [~column.is_null() for column in columns]
    parts = [part.fill_null(False) for part in (value, ~value)]
    return Truth(*(nw.all_horizontal(part, *known, ignore_nulls=True) if known else part for part in parts))


def _both(parts: list[Truth]) -> Truth:
    holds, fails = zip(*parts, strict=True)
    return Truth(nw.all_horizontal(*holds, ignore_nulls=True), nw.any_horizontal(*fails, ignore_nulls=True))


def _flipped(part: Truth) -> Truth:
    return Truth(part.fails, part.holds)


class Translator:
    """Turns the nodes of one text into expressions, noting columns and operands on the way."""

    noun, article = "condition", "a"
    hint = HINT

    def __init__(self, text: str) -> None:
        self.line = re.sub(r"\s", " ", text).strip(" ")
        self.source = _STRING_OR_NAME.sub(_plain_name, self.line)
        self.columns: dict[str, None] = {}
        self.operands: list[Operand] = []

    def condition(self, node: ast.expr) -> Truth:
        match node:
            case ast.BoolOp(ast.And(), values):
                return _both([self.condition(value) for value in values])
            case ast.BoolOp(ast.Or(), values):
                return _flipped(_both([_flipped(self.condition(value)) for value in values]))
            case ast.UnaryOp(ast.Not(), operand):
                return _flipped(self.condition(operand))
            case ast.Compare(left, operators, others):
                lefts = [left, *others[:-1]]
                return _both([self._pair(*pair, node) for pair in zip(lefts, operators, others, strict=True)])
        return _truth(self._noted(node, "condition", self.value(node)))

    def _pair(self, left: ast.expr, comparison: ast.cmpop, right: ast.expr, node: ast.expr) -> Truth:
        if isinstance(comparison, ast.Is | ast.IsNot):
            truth = self._is_none(left, right)
        elif isinstance(comparison, ast.In | ast.NotIn):
            value = self._whole(left)
            truth = _truth(self._noted(node, "condition", self._is_in(value, right)), value)
        else:
            kind = type(comparison)
            if isinstance(left, ast.Constant):  # which frames of cuDF do not take on the left
                left, kind, right = right, _MIRRORED.get(kind, kind), left
            sides = self._whole(left), self._whole(right)
            columns = [side for side, of in zip(sides, (left, right), strict=True) if not isinstance(of, ast.Constant)]
            return _truth(self._noted(node, "condition", COMPARE[kind](*sides)), *columns)
        return _flipped(truth) if isinstance(comparison, ast.IsNot | ast.NotIn) else truth

    def _is_none(self, left: ast.expr, right: ast.expr) -> Truth:
        if not isinstance(right, ast.Constant) or right.value is not None:
            raise self._refusal(right, "'is' with anything but None")
        null = self._whole(left).is_null()
        return Truth(null, ~null)

    def _is_in(self, value: nw.Expr, right: ast.expr) -> nw.Expr:
        if not isinstance(right, ast.Tuple | ast.List | ast.Set) or not right.elts:
            raise self._refusal(right, "'in' with anything but a list of values")
        # Not is_in: it takes no integers for a floating column, and libraries differ on nulls.
        return nw.any_horizontal(*[value == self._constant(item) for item in right.elts], ignore_nulls=False)

    def _whole(self, node: ast.expr) -> nw.Expr:
        """Return one side of a comparison; a NaN that arithmetic made is null there."""
        value = self.value(node)
        return nw.when(~value.is_nan()).then(value) if self.is_arithmetic(node) else value

    def value(self, node: ast.expr) -> nw.Expr:
        # Divisors are made columns: by a constant, Polars divides through its reciprocal, and 49.0 % 49 would be 49.
        match node:
            case ast.Name():
                name = self.name(node)
                self.columns[name] = None
                return nw.col(name)
            case ast.BinOp(left, ast.Mod(), right):
                dividend = self._number(left)
                return dividend % (dividend * 0 + self._number(right))
            case ast.BinOp(left, ast.Div(), right):
                dividend = self._float(left)
                return dividend / (dividend.is_null().cast(nw.Float64) * 0 + self._float(right))
            case ast.BinOp(left, ast.Pow(), right):  # of NaN, 1 would be
                return self._noted(left, "number", self._whole(left)).cast(nw.Float64) ** self._noted(
                    right, "number", self._whole(right)
                ).cast(nw.Float64)
            case ast.BinOp(left, sign, right) if type(sign) in ARITHMETIC:
                return ARITHMETIC[type(sign)](self._float(left), self._float(right))
            case ast.UnaryOp(ast.USub(), operand) if not isinstance(operand, ast.Constant):
                return -self._float(operand)
            case ast.Call(ast.Name("abs"), [argument], []):
                return self._float(argument).abs()
            case ast.Call(ast.Name("len"), [argument], []):
                return self._noted(argument, "string", self.value(argument)).str.len_chars()
        return nw.lit(self._constant(node))

    def name(self, node: ast.Name) -> str:
        """Return the column that a node names."""
        return self._segment(node).strip("`")

    def is_arithmetic(self, node: ast.expr) -> bool:
        """Return whether a node is computed of numbers, so that it may be NaN."""
        match node:
            case ast.BinOp() | ast.Call(ast.Name("abs")):
                return True
            case ast.UnaryOp(_, operand):
                return not isinstance(operand, ast.Constant)
        return False

    def _number(self, node: ast.expr) -> nw.Expr:
        return self._noted(node, "number", self.value(node))

    def _float(self, node: ast.expr) -> nw.Expr:
        return self._number(node).cast(nw.Float64)

    def _constant(self, node: ast.expr) -> Any:
        match node:
            case ast.UnaryOp(ast.USub(), ast.Constant(bool())):
                raise self._refusal(node, "the minus")
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
                return self._in_range(node, -value)
            case ast.Constant(bool() | str() as value):
                return value
            case ast.Constant(int() | float() as value):
                return self._in_range(node, value)
            case ast.Constant(None):
                raise self._refusal(node, "None outside 'is None' and 'is not None'")
        raise self._refusal(node, _CONSTRUCTS.get(type(node), type(node).__name__))

    def _in_range(self, node: ast.expr, value: float) -> float:
        limits = (-(2**63), 2**64 - 1) if isinstance(value, int) else (-sys.float_info.max, sys.float_info.max)
        if not limits[0] <= value <= limits[1]:
            raise self._refusal(node, "a number beyond 64 bits")
        return value

    def _noted(self, node: ast.expr, kind: str, value: nw.Expr) -> nw.Expr:
        self.operands.append(Operand(self._segment(node), kind, value))
        return value

    def _segment(self, node: ast.expr) -> str:
        return self.line[self._place(node.col_offset) : self._place(node.end_col_offset or 0)]

    def _place(self, offset: int) -> int:
        """Return the place of a character from the number of bytes before it, which is what `ast` counts."""
        return len(self.source.encode()[:offset].decode())

    def _refusal(self, node: ast.expr, what: str) -> ConfigError:
        return ConfigError(
            f"{what} is not allowed in {self.article} {self.noun}: {self._segment(node)!r} at position"
            f" {self._place(node.col_offset) + 1} of {self.line!r}",
            hint=self.hint,
        )


_CONSTRUCTS: Mapping[type[ast.expr], str] = {
    ast.Attribute: "an attribute", ast.Subscript: "indexing", ast.Call: "this call", ast.Lambda: "a lambda",
    ast.IfExp: "if ... else", ast.JoinedStr: "an f-string", ast.NamedExpr: "an assignment", ast.Starred: "a star",
    ast.Tuple: "a tuple", ast.List: "a list", ast.Set: "a set", ast.Dict: "a dict", ast.BinOp: "this operator",
    ast.UnaryOp: "this operator", ast.Name: "a column", ast.Compare: "a comparison as a value",
    ast.BoolOp: "a condition as a value", ast.Constant: "this constant",
}  # fmt: skip
