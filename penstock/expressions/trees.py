"""Trees of expressions of Narwhals: their nodes, the columns that they name, and their types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import narwhals as nw
import polars as pl
import pyarrow as pa
from narwhals._expression_parsing import ExprKind, ExprNode

from penstock import frames
from penstock.core.errors import SchemaError
from penstock.core.schemas import canonical, require
from penstock.expressions.values import check_width

UNNAMED = (ExprKind.ALL, ExprKind.NTH, ExprKind.EXCLUDE, ExprKind.SELECTOR)
"""Nodes of columns that are not named."""


def walk(expression: nw.Expr) -> Iterator[ExprNode]:
    """Yield all nodes of an expression, those of arguments too."""
    ahead = [*reversed(expression._nodes)]
    while ahead:
        yield (node := ahead.pop())
        inner = [each for each in reversed(node.exprs) if isinstance(each, nw.Expr)]
        ahead += [below for each in inner for below in reversed(each._nodes)]


def columns_in(expression: nw.Expr) -> list[str]:
    """Return the columns that an expression names.

    Examples
    --------
    >>> columns_in(nw.col("a") + nw.coalesce("b", "c")), columns_in(nw.col("a").sum().over("d", order_by="e"))
    (['a', 'b', 'c'], ['a', 'd', 'e'])
    """
    names: dict[str, None] = {}
    for node in walk(expression):
        if node.kind is ExprKind.COL:
            names.update(dict.fromkeys(node.kwargs["names"]))
        windows = [each for name in ("partition_by", "order_by") for each in node.kwargs.get(name) or ()]
        texts = [*([] if node.str_as_lit else node.exprs), *windows]
        names.update(dict.fromkeys(each for each in texts if isinstance(each, str)))
    return list(names)


def with_exprs(node: ExprNode, exprs: Sequence[Any]) -> ExprNode:
    """Return a node with other arguments."""
    return ExprNode(
        node.kind, node.name, exprs=exprs, str_as_lit=node.str_as_lit, allow_multi_output=node.allow_multi_output,
        **node.kwargs,
    )  # fmt: skip


def is_column(expression: nw.Expr) -> bool:
    """Return whether an expression is a column as it is."""
    nodes = expression._nodes
    return len(nodes) == 1 and nodes[0].kind is ExprKind.COL and len(nodes[0].kwargs["names"]) == 1


def type_of(expression: nw.Expr, schema: pa.Schema, verb: str) -> pa.DataType:
    """Return the type that an expression on a row has, by the rules of Polars, in its one spelling."""
    names = columns_in(expression)
    require(schema, names, stage=verb)
    if is_column(expression):
        return schema.field(names[0]).type
    empty = frames.no_rows(pa.schema([schema.field(name) for name in names]))
    try:
        made = empty.lazy().select(expression.alias("made"))
        kind = made.collect_schema()["made"]
    except frames.ERRORS as error:
        raise SchemaError(
            f"{verb} cannot compute {expression!r}: {str(error).splitlines()[0]}",
            hint="Columns: " + ", ".join(f"{name} ({schema.field(name).type})" for name in names),
            stage=verb,
        ) from error
    check_width(f"value of {shown(expression)} in {verb}", kind)
    return _arrow_type(made.to_native().collect_schema()["made"])


@cache
def _arrow_type(kind: pl.DataType) -> pa.DataType:
    return canonical(pl.DataFrame(schema={"made": kind}).to_arrow().schema).field("made").type


def shown(expression: nw.Expr) -> str:
    """Return an expression in words, which are the name of a column where it is one."""
    names = columns_in(expression)
    return names[0] if is_column(expression) else f"an expression of {', '.join(names)}"
