"""UNION, INTERSECT and EXCEPT, which put columns together by their places, and take null for null."""

from __future__ import annotations

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
    left, right = context.run(node.this, context), context.run(node.expression, context)
    left, right = _alike(left, right, node)
    if not isinstance(node, exp.Union) and not node.args.get("distinct"):
        raise refused(node, f"{node.key.upper()} ALL is not supported", f"Write {node.key.upper()}, of distinct rows.")
    names = left.columns
    nested = next((field for field in left.schema if pa.types.is_nested(field.type)), None)
    if nested is not None and node.args.get("distinct"):
        problem = f"{node.key.upper()} compares rows, and column {nested.name!r} is {nested.type}"
        raise refused(node, problem, "Leave it out, or write UNION ALL.")
    if isinstance(node, exp.Union):
        made = _appended(left, right)
    else:
        made = left.join(right, names, how="semi" if isinstance(node, exp.Intersect) else "anti", null_equal=True)
    made = made.unique() if node.args.get("distinct") else made
    order = sort_items(node, lambda item: _column(item, made))
    return limited(node, sorted_by(made, order, [each.node.name for each in order]))


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


def _alike(left: Dataset, right: Dataset, node: exp.Expr) -> tuple[Dataset, Dataset]:
    """Return both with the names of the first, and types that hold the values of both."""
    if len(left.columns) != len(right.columns):
        problem = f"{node.key.upper()} has {len(left.columns)} columns and {len(right.columns)}"
        raise refused(node, problem, "Select as many on both sides.")
    sides = [left, renamed(right, left.columns)]
    for name in left.columns:
        values = [SqlTranslator(each.schema).value(internal_column(name, name, node)) for each in sides]
        kind = common_kind(values, node)
        for place, value in enumerate(values):
            if value.kind != kind:
                names = sides[place].columns
                sides[place] = sides[place].with_columns({name: as_kind(value, kind)}).select(names)
    return sides[0], sides[1]


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
