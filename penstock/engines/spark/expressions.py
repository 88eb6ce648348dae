"""Which expressions on a row Spark SQL computes as Polars does; all others are left to Polars."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import narwhals as nw
import pyarrow as pa
from narwhals._expression_parsing import ExprNode

from penstock.core.errors import SchemaError
from penstock.engines.spark.carriers import is_held
from penstock.expressions.trees import columns_in, is_column, type_of

_ALIKE = {
    "col", "lit", "alias", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__and__", "__or__",
    "__invert__", "is_null", "is_in", "is_between", "all_horizontal", "any_horizontal", "coalesce", "when_then",
    "str.starts_with", "str.ends_with", "dt.year", "dt.month", "dt.day", "fill_nan",
}  # fmt: skip
_ARITHMETIC = {"__add__", "__sub__", "__mul__", "__radd__", "__rsub__", "__rmul__"}
_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_NUMBERS = (*_INTEGERS, pa.float32(), pa.float64())
_EXACT_CASTS: Mapping[Any, tuple[pa.DataType, ...]] = {nw.Int64: _INTEGERS, nw.Float64: _NUMBERS}
"""Casts that both do by the rules of IEEE 754, or without a change of value."""
_LITERALS = (nw.Boolean, nw.Int8, nw.Int16, nw.Int32, nw.Int64, nw.Float32, nw.Float64, nw.String, nw.Date)


def is_native(expression: nw.Expr, types: Mapping[str, pa.DataType]) -> bool:
    """Return whether Spark SQL gives what Polars gives for an expression on rows of these types.

    Text against bytes, regular expressions, casts that can fail, arithmetic that can overflow, division and decimals
    are not the same in both; a name with a dot or a backquote cannot be said. Columns are native as they are, but no
    expression on a type that Spark has to hold in another, as that of a time in another zone than UTC; a time without
    a zone in the expression itself Spark would take for one in the zone of this machine.

    Examples
    --------
    >>> types = {"price": pa.float64(), "n": pa.int32()}
    >>> [is_native(each, types) for each in (nw.col("price") * nw.col("n"), nw.col("n") * 2, nw.col("price") / 2)]
    [True, False, False]
    """
    if is_column(expression):
        return True
    names = columns_in(expression)
    if any("." in name or "`" in name or name not in types or not is_held(types[name]) for name in names):
        return False
    schema = pa.schema([(name, types[name]) for name in names])
    try:
        return all(_is_alike(before, node, schema) for before, node in _calls(expression))
    except SchemaError:  # Polars would refuse it
        return False


def _calls(expression: nw.Expr) -> Iterator[tuple[Sequence[ExprNode], ExprNode]]:
    """Yield each node, those of arguments too, with the nodes that make what it is called on."""
    for place, node in enumerate(expression._nodes):
        yield expression._nodes[:place], node
        for each in node.exprs:
            if isinstance(each, nw.Expr):
                yield from _calls(each)


def _is_alike(before: Sequence[ExprNode], node: ExprNode, schema: pa.Schema) -> bool:
    if any(map(_is_naive, (*node.exprs, *node.kwargs.values()))):
        return False
    if node.name == "lit" and (kind := node.kwargs["dtype"]) is not None:
        return kind in _LITERALS
    if node.name in _ALIKE:
        return True
    if node.name == "cast":
        return _type(nw.Expr(*before), schema) in _EXACT_CASTS.get(node.kwargs["dtype"], ())
    if node.name not in _ARITHMETIC:
        return False
    operands = [_type(each, schema) for each in (nw.Expr(*before), *node.exprs)]
    # Beside a double all numbers become doubles in both; of single precision only Polars makes no double.
    doubles = pa.float64() in operands and all(each in _NUMBERS for each in operands)
    return doubles and _type(nw.Expr(*before, node), schema) == pa.float64()


def _is_naive(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_naive, value))
    return isinstance(value, datetime.datetime) and value.tzinfo is None


def _type(value: Any, schema: pa.Schema) -> pa.DataType:
    return type_of(value if isinstance(value, nw.Expr) else nw.lit(value), schema, "query")
