"""UNION, INTERSECT and EXCEPT, which put columns together by their places, and take null for null."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import narwhals as nw
import pyarrow as pa
from sqlglot import exp

from penstock.dataset.dataset import Dataset
from penstock.dataset.sql.expressions import SqlTranslator
from penstock.dataset.sql.names import Names, matches
from penstock.dataset.sql.ordering import limited, ordinal, sort_items, sorted_by
from penstock.dataset.sql.refusals import refused, shown, unknown_column
from penstock.dataset.sql.scopes import internal_column
from penstock.dataset.sql.sources import Context, renamed
from penstock.dataset.sql.values import as_kind, common_kind

_CLAUSES = {"with_", "this", "expression", "distinct", "order", "limit", "offset"}


def combined(node: exp.SetOperation, context: Context) -> Dataset:
    """Return the rows of two queries as those of one, in order; columns are called as those of the first."""
    extra = [name for name, value in node.args.items() if value and name not in _CLAUSES]
    if extra:
        raise refused(node, f"{extra[0].upper()} of {node.key.upper()} is not supported", "Put columns in one order.")
    sides = _alike([context.run(each, context) for each in _operands(node)], node)
    if not isinstance(node, exp.Union) and not node.args.get("distinct"):
        raise refused(node, f"{node.key.upper()} ALL is not supported", f"Write {node.key.upper()}, of distinct rows.")
    names = sides[0].columns
    nested = next((field for field in sides[0].schema if pa.types.is_nested(field.type)), None)
    if nested is not None and node.args.get("distinct"):
        problem = f"{node.key.upper()} compares rows, and column {nested.name!r} is {nested.type}"
        raise refused(node, problem, "Leave it out, or write UNION ALL.")
    if isinstance(node, exp.Union):
        made = _together(sides)
    else:
        how = "semi" if isinstance(node, exp.Intersect) else "anti"
        made = sides[0].join(sides[1], names, how=how, null_equal=True)
    made = made.unique() if node.args.get("distinct") else made
    order = sort_items(node, lambda item: _column(item, made))
    return limited(node, sorted_by(made, order, [each.node.name for each in order]))


def _operands(node: exp.SetOperation) -> list[exp.Expr]:
    """Return the queries to combine, a whole chain of UNION ALL at once."""
    queries: list[exp.Expr] = [node.expression]
    while _is_union_all(node) and _is_union_all(node.this, {"this", "expression"}):
        node = node.this
        queries.append(node.expression)
    return [node.this, *reversed(queries)]


def _is_union_all(node: exp.Expr, clauses: Collection[str] = _CLAUSES - {"distinct"}) -> bool:
    return isinstance(node, exp.Union) and {name for name, value in node.args.items() if value} <= set(clauses)


def _together(sides: Sequence[Dataset]) -> Dataset:
    """Return the rows of all in order, joined as a balanced tree: each level adds keys of the order."""
    while len(sides) > 1:
        pairs = [sides[place : place + 2] for place in range(0, len(sides), 2)]
        sides = [_appended(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return sides[0]


def _appended(left: Dataset, right: Dataset) -> Dataset:
    """Return the rows of both: of a branch each, which match none of the other, so that a full join has all of them."""
    taken, names = Names(left.columns), left.columns
    branch = taken.new("branch")
    other = {each.name: taken.new("other") for each in left.schema if pa.types.is_nested(each.type)}
    keys = [name for name in names if name not in other]
    its_own = {branch: nw.lit(1), **{its: nw.col(name) for name, its in other.items()}}
    right = right.with_columns(its_own).select([*keys, *its_own])
    made = left.with_columns({branch: nw.lit(0)}).join(right, [*keys, branch], how="full", null_equal=True)
    if other:
        made = made.with_columns({name: nw.coalesce(nw.col(name), nw.col(its)) for name, its in other.items()})
    return made.select(names)


def _alike(sides: Sequence[Dataset], node: exp.Expr) -> list[Dataset]:
    """Return all with the names of the first, and types that hold the values of all."""
    names = sides[0].columns
    if other := next((each.columns for each in sides if len(each.columns) != len(names)), None):
        problem = f"{node.key.upper()} has {len(names)} columns and {len(other)}"
        raise refused(node, problem, "Select as many on both sides.")
    sides = [sides[0], *(renamed(each, names) for each in sides[1:])]
    for name in names:
        values = [SqlTranslator(each.schema).value(internal_column(name, name, node)) for each in sides]
        kind = common_kind(values, node)
        for place, value in enumerate(values):
            if value.kind != kind:
                sides[place] = sides[place].with_columns({name: as_kind(value, kind)}).select(names)
    return sides


def _column(item: exp.Expr, made: Dataset) -> exp.Expr:
    if isinstance(item, exp.Literal) and not item.is_string:
        name = made.columns[ordinal(item, len(made.columns), "ORDER BY")]
        return internal_column(name, name, item)
    if not isinstance(item, exp.Column):
        raise refused(item, f"ORDER BY {shown(item)} is no column of the result", "Sort in a query around this one.")
    names = matches(item.this, made.columns)
    if len(names) != 1:
        raise unknown_column(item, item.name, made.columns)
    return internal_column(names[0], names[0], item)
