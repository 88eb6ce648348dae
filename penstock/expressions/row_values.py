"""Expressions as functions of one row, of Python's own values, equal to the bit to what a frame gives.

Made of what rounds, compares and cuts in Python as in dataframe libraries do; for all else there is no function.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.expressions.nodes import ARITHMETIC, COMPARE
from penstock.expressions.parsing import body
from penstock.expressions.values import ValueTranslator

Row = Mapping[str, Any]
_OF_TEXTS: Mapping[str, Callable[..., Any]] = {
    "contains": operator.contains, "startswith": str.startswith, "endswith": str.endswith,
}  # fmt: skip
_OF_NUMBERS: Mapping[str, Callable[[float], float]] = {
    "float": float, "abs": abs,
    "floor": lambda number: float(np.floor(number)),
    "ceil": lambda number: float(np.ceil(number)),
    "sqrt": lambda number: math.sqrt(number) if number >= 0 else math.nan,
}  # fmt: skip


class _Node(NamedTuple):
    """What gives a value of a row, None for null, and its kind: ``int``, ``float``, ``str``, ``bool`` or ``null``."""

    of: Callable[[Row], Any]
    kind: str


class _NoFunction(Exception):
    """There is no function of one row."""


def row_value(text: str, schema: pa.Schema) -> Callable[[Row], Any] | None:
    """Return a checked expression as a function of one row of `schema`; None where there is none that is the same.

    Examples
    --------
    >>> value = row_value("x / y if y > 0 else None", pa.schema({"x": pa.float64(), "y": pa.int8()}))
    >>> value({"x": 1.0, "y": 4}), value({"x": 1.0, "y": 0})
    (0.25, None)
    >>> row_value("log(x)", pa.schema({"x": pa.float64()})) is None
    True
    """
    translator = ValueTranslator(text)
    try:
        return _Compiler(translator, schema).part(body(translator, text)).of
    except _NoFunction:
        return None


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_signed_integer(kind):
        return "int"
    return {pa.float64(): "float", pa.string(): "str", pa.bool_(): "bool"}.get(kind, "")


def _divide(dividend: float, divisor: float) -> float:
    divisor += 0.0  # minus zero is zero there
    if divisor:
        return dividend / divisor
    return math.copysign(math.inf, dividend) if dividend else math.nan


def _with_nulls(function: Callable[..., Any], *parts: Callable[[Row], Any]) -> Callable[[Row], Any]:
    def call(row: Row) -> Any:
        values = [part(row) for part in parts]
        return None if None in values else function(*values)

    return call


def _all_hold(conditions: list[Callable[[Row], Any]], row: Row) -> bool | None:
    met = [condition(row) for condition in conditions]
    return False if False in met else None if None in met else True


def _first_known(parts: list[Callable[[Row], Any]], row: Row) -> Any:
    return next((value for part in parts if (value := part(row)) is not None), None)


def _negated(condition: Callable[[Row], Any]) -> Callable[[Row], Any]:
    return _with_nulls(operator.not_, condition)


class _Compiler:
    """Turns the nodes of a syntax tree into functions of a row."""

    def __init__(self, translator: ValueTranslator, schema: pa.Schema) -> None:
        self._translator, self._schema = translator, schema

    def part(self, node: ast.expr) -> _Node:
        """Return a value that stands by itself: NaN is null there."""
        made = self.value(node)
        if made.kind != "float":
            return made
        return _Node(lambda row: None if (value := made.of(row)) != value else value, "float")

    def value(self, node: ast.expr) -> _Node:
        match node:
            case ast.Name():
                name = self._translator.name(node)
                if kind := _kind(self._schema.field(name).type):
                    return _Node(operator.itemgetter(name), kind)
            case ast.Constant(value) if type(value).__name__ in ("int", "float", "str", "bool", "NoneType"):
                return _Node(lambda row: value, "null" if value is None else type(value).__name__)
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
                return _Node(lambda row: -value, type(value).__name__)
            case ast.UnaryOp(ast.USub(), operand):
                return self._numeric(operator.neg, operand)
            case ast.UnaryOp(ast.Not()) | ast.BoolOp() | ast.Compare():
                return _Node(self.condition(node), "bool")
            case ast.BinOp(left, ast.Div(), right):
                return self._numeric(_divide, left, right)
            case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() as sign, right):
                return self._numeric(ARITHMETIC[type(sign)], left, right)
            case ast.IfExp(test, yes, no):
                condition, (first, second) = self.condition(test), self._alike([yes, no])
                return _Node(lambda row: first.of(row) if condition(row) else second.of(row), first.kind)
            case ast.Call(ast.Name(name), arguments, []):
                return self._called(name, arguments)
        raise _NoFunction

    def _numeric(self, function: Callable[..., Any], *nodes: ast.expr) -> _Node:
        parts = [_with_nulls(float, self.value(node).of) for node in nodes]
        return _Node(_with_nulls(function, *parts), "float")

    def _alike(self, nodes: list[ast.expr]) -> list[_Node]:
        """Return values of one kind; integers are floats among these."""
        made = [self.part(node) for node in nodes]
        kinds = {each.kind for each in made} - {"null"}
        if kinds == {"int", "float"}:
            return [_Node(_with_nulls(float, each.of), "float") for each in made]
        if len(kinds) != 1:
            raise _NoFunction
        return [_Node(each.of, *kinds) for each in made]

    def _called(self, name: str, arguments: list[ast.expr]) -> _Node:
        if name in _OF_NUMBERS:
            return self._numeric(_OF_NUMBERS[name], *arguments)
        if name == "coalesce":
            parts = self._alike(arguments)
            return _Node(partial(_first_known, [part.of for part in parts]), parts[0].kind)
        if name == "len":
            return _Node(_with_nulls(len, self.value(arguments[0]).of), "int")
        if name in _OF_TEXTS:
            return _Node(_with_nulls(_OF_TEXTS[name], *(self.value(each).of for each in arguments)), "bool")
        raise _NoFunction

    def condition(self, node: ast.expr) -> Callable[[Row], Any]:
        """Return what is True, False, or None where it is open."""
        match node:
            case ast.BoolOp(ast.And(), values):
                return partial(_all_hold, [self.condition(value) for value in values])
            case ast.BoolOp(ast.Or(), values):
                return _negated(partial(_all_hold, [_negated(self.condition(value)) for value in values]))
            case ast.UnaryOp(ast.Not(), operand):
                return _negated(self.condition(operand))
            case ast.Compare(left, operators, others):
                lefts = [left, *others[:-1]]
                return partial(_all_hold, [self._pair(*each) for each in zip(lefts, operators, others, strict=True)])
        return self.value(node).of

    def _pair(self, left: ast.expr, comparison: ast.cmpop, right: ast.expr) -> Callable[[Row], Any]:
        if isinstance(comparison, ast.Is | ast.IsNot):
            value, wanted = self.part(left).of, isinstance(comparison, ast.Is)
            return lambda row: (value(row) is None) is wanted
        if type(comparison) not in COMPARE:
            raise _NoFunction
        return _with_nulls(COMPARE[type(comparison)], *(each.of for each in self._alike([left, right])))
