"""Which expressions on a row Spark SQL computes as Polars does; all others are left to Polars."""

from __future__ import annotations

from collections.abc import Mapping

import narwhals as nw
import pyarrow as pa

from penstock.expressions.aggregates import columns_in, walk

_ALIKE = {
    "col", "lit", "alias", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__and__", "__or__",
    "__invert__", "is_null", "is_in", "is_between", "all_horizontal", "any_horizontal", "coalesce", "when_then",
    "str.starts_with", "str.ends_with", "dt.year", "dt.month", "dt.day", "fill_nan",
}  # fmt: skip
_ARITHMETIC = {"__add__", "__sub__", "__mul__", "__radd__", "__rsub__", "__rmul__"}


def is_native(expression: nw.Expr, types: Mapping[str, pa.DataType]) -> bool:
    """Return whether Spark SQL gives what Polars gives for an expression on rows of these types.

    Text against bytes, regular expressions, casts, division and decimals are not the same in both; a name with a dot or
    a backquote cannot be said.
    """
    names = columns_in(expression)
    if any("." in name or "`" in name or name not in types for name in names):
        return False
    floats = all(pa.types.is_float64(types[name]) for name in names)
    return all(node.name in _ALIKE or (floats and node.name in _ARITHMETIC) for node in walk(expression))
