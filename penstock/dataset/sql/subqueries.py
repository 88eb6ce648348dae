"""Subqueries in WHERE, HAVING and SELECT as joins: IN and EXISTS keep rows, a value stands beside each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
from sqlglot import exp

from penstock.dataset.dataset import Dataset
from penstock.dataset.sql.aggregates import Grouping, has_aggregate
from penstock.dataset.sql.joins import FromClause, JoinClause, find_keys, inner_join, outer_join
from penstock.dataset.sql.parsing import conjuncts
from penstock.dataset.sql.refusals import refused, shown
from penstock.dataset.sql.rows import QueryRows, constant_value
from penstock.dataset.sql.scopes import columns_of, internal_column, resolve, within
from penstock.dataset.sql.sources import Context, renamed


def has_query(node: exp.Expr) -> bool:
    """Return whether an expression has a subquery."""
    return any(isinstance(each, exp.Query) for each in within(node))


def restricted(tables: FromClause, conditions: Sequence[exp.Expr]) -> QueryRows:
    """Return the rows of FROM for which resolved conditions hold, those with subqueries last."""
    rows = tables.rows([each for each in conditions if not has_query(each)])
    context = replace(tables.context, outer=tables.scope)
    for each in conditions:
        rows = kept(rows, each, context) if has_query(each) else rows
    return rows


@dataclass(frozen=True)
class CorrelatedQuery:
    """A subquery with conditions on columns of the query around it, whose scope is the context's outer one.

    Parameters
    ----------
    node : sqlglot.exp.Select
    tables : FromClause
    rows : QueryRows
        Its own rows, for which its other conditions hold.
    conditions : tuple
        Those that read columns of both.
    """

    node: exp.Select
    tables: FromClause
    rows: QueryRows
    conditions: tuple[exp.Expr, ...]

    @classmethod
    def of(cls, query: exp.Expr, context: Context, around: QueryRows) -> CorrelatedQuery | None:
        """Return a subquery by its conditions; None for one that can be run by itself."""
        query = query.unnest()
        if not isinstance(query, exp.Select) or query.args.get("with_") or not query.args.get("from_"):
            return None
        tables = FromClause.of(query, context, around)
        where = query.args.get("where")
        conditions = [] if where is None else conjuncts(resolve(where.this, tables.scope))
        own = {name for source in tables.scope.sources for name in source.columns.values()}
        both = [each for each in conditions if not columns_of([each]) <= own]
        if not both:
            return None
        return cls(query, tables, restricted(tables, [each for each in conditions if each not in both]), tuple(both))

    def check_clauses(self, *allowed: str) -> None:
        """Raise ConfigError for a clause with which rows cannot be asked for by a join."""
        for name in ("group", "having", "limit", "offset", "distinct"):
            if self.node.args.get(name) and name not in allowed:
                problem = f"a subquery on columns of the query around it has {name.upper()}"
                raise refused(self.node.args[name], problem, "Say it in a query by itself, named by WITH, and join it.")

    def value(self) -> exp.Expr:
        """Return the only column of the list."""
        if len(self.node.expressions) != 1:
            raise one_column(self.node)
        return resolve(self.node.expressions[0].unalias(), self.tables.scope)


def one_column(node: exp.Expr) -> Exception:
    """Return the error for a subquery of several columns where there can be one."""
    return refused(node, "a subquery has several columns", "Select the one that is asked for.")


def kept(rows: QueryRows, condition: exp.Expr, context: Context) -> QueryRows:
    """Return the rows for which a resolved condition with subqueries holds."""
    node, is_negated = condition.unnest(), False
    while isinstance(node, exp.Not):
        node, is_negated = node.this.unnest(), not is_negated
    if isinstance(node, exp.Exists) and (inner := CorrelatedQuery.of(node.this, context, rows)) is not None:
        inner.check_clauses("distinct")
        if any(map(has_aggregate, inner.node.expressions)):
            raise refused(node, f"{shown(node)} is of an aggregate, which is always there", "Ask for the rows.")
        return _matching(rows, inner.rows, inner.conditions, "anti" if is_negated else "semi")
    if isinstance(node, exp.In) and node.args.get("query") is not None:
        return _members(rows, node, context, is_negated=is_negated)
    rows, made = attached(rows, condition, context)
    return rows.where([made])


def _matching(rows: QueryRows, inner: QueryRows, on: Sequence[exp.Expr], how: str) -> QueryRows:
    """Return the rows that match one of others, or none.

    What is equal on both sides is a key. For other conditions the distinct values of what they read are joined, and
    rows are kept by these.
    """
    keys, others = find_keys(on, rows, inner)
    mine = {*rows.dataset.columns}
    if keys and all(columns_of([each]) <= mine for each in others):
        return outer_join(rows, JoinClause(how, inner, tuple(on)))
    read = [name for name in rows.dataset.columns if name in columns_of(on)]
    values = replace(rows, dataset=rows.dataset.select(read).unique())
    matched = inner_join([values, inner], on).dataset.select(read).unique()
    return replace(rows, dataset=rows.dataset.join(matched, read, how=how, null_equal=True))


def _run(query: exp.Expr, context: Context, name: str) -> Dataset:
    """Return the only column of a query that is run by itself, under another name."""
    made = context.run(query, replace(context, outer=None))
    if len(made.columns) != 1:
        raise one_column(query)
    return renamed(made, [name])


def _members(rows: QueryRows, node: exp.In, context: Context, *, is_negated: bool) -> QueryRows:
    query = node.args["query"]
    if (inner := CorrelatedQuery.of(query, context, rows)) is not None:
        if is_negated or has_aggregate(inner.node.expressions[0]):
            problem = f"{shown(node)} is not supported, of a subquery on columns of the query around it"
            raise refused(node, problem, "Write EXISTS, or NOT EXISTS, with x = y in its WHERE.")
        inner.check_clauses("distinct")
        equal = exp.EQ(this=node.this, expression=inner.value())
        return _matching(rows, inner.rows, [*inner.conditions, equal], "semi")
    name, count, known = (rows.names.new(each) for each in ("member", "members", "known"))
    members = _run(query, context, name)
    equal = exp.EQ(this=node.this, expression=internal_column(name, name, node))
    join = JoinClause("anti" if is_negated else "semi", QueryRows(members, rows.names), (equal,))
    if not is_negated:
        return outer_join(rows, join)
    counts: dict[str, Any] = {count: nw.len(), known: nw.col(name).count()}
    beside = replace(rows, dataset=rows.dataset.join(members.group_by().agg(**counts), how="cross"))
    # What is in no list is open where the list has a NULL, or is one itself and the list is not empty.
    missing = exp.Is(this=node.this.copy(), expression=exp.Null())
    all_known = exp.EQ(this=internal_column(count, count, node), expression=internal_column(known, known, node))
    empty = exp.EQ(this=internal_column(count, count, node), expression=exp.Literal.number(0))
    return outer_join(beside, join).where([exp.or_(empty, exp.and_(all_known, exp.not_(missing)))])


def attached(rows: QueryRows, node: exp.Expr, context: Context) -> tuple[QueryRows, exp.Expr]:
    """Return the rows with the values of the subqueries of an expression beside them, and it over these."""
    root = exp.Paren(this=node.copy())
    root.parent = node.parent
    for each in [*within(root)]:
        if isinstance(each, exp.In) and each.args.get("query") is not None:
            hint = "Let it stand by itself in WHERE, between ANDs; or join the subquery, and ask IS NOT NULL."
            raise refused(each, f"{shown(each)} is not supported here", hint)
        if isinstance(each, exp.Exists):
            rows, made = _exists(rows, each, context)
            each.replace(made)
        elif isinstance(each, exp.Query) and not isinstance(each.parent, exp.Exists):
            rows, made = _value(rows, each, context)
            each.replace(made)
    result: exp.Expr = root.this
    return rows, result


def _exists(rows: QueryRows, node: exp.Exists, context: Context) -> tuple[QueryRows, exp.Expr]:
    inner = CorrelatedQuery.of(node.this, context, rows)
    if inner is None:
        name = rows.names.new("rows")
        counted: dict[str, Any] = {name: nw.len()}
        made = context.run(node.this, replace(context, outer=None)).limit(1).group_by().agg(**counted)
        column = internal_column(name, name, node)
        beside = replace(rows, dataset=rows.dataset.join(made, how="cross"))
        return beside, exp.GT(this=column, expression=exp.Literal.number(0))
    inner.check_clauses("distinct")
    rows, mark, _ = _beside(rows, inner, Grouping(inner.rows), None)
    return rows, exp.not_(exp.Is(this=mark, expression=exp.Null()))


def _value(rows: QueryRows, query: exp.Expr, context: Context) -> tuple[QueryRows, exp.Expr]:
    inner = CorrelatedQuery.of(query, context, rows)
    select = query.unnest()
    if inner is None:
        name = rows.names.new("value")
        made = _run(query, context, name)
        if not _is_one_row(select):
            if not _has_one_at_most(select):
                hint = "Take an aggregate of it, or LIMIT 1 with ORDER BY."
                raise refused(select, f"the subquery {shown(select)} may have several rows", hint)
            most: dict[str, Any] = {name: "max"}
            made = made.group_by().agg(**most)
        return replace(rows, dataset=rows.dataset.join(made, how="cross")), internal_column(name, name, query)
    inner.check_clauses()
    grouping, value = Grouping(inner.rows), inner.value()
    if not has_aggregate(value):
        hint = "Take an aggregate of it: max(x)."
        raise refused(select, f"the subquery {shown(select)} may have several rows", hint)
    rows, mark, found = _beside(rows, inner, grouping, value)
    nothing = constant_value(_of_nothing(grouping, value))
    if nothing is None:
        return rows, found
    missing = exp.Is(this=mark, expression=exp.Null())
    return rows, exp.Case(ifs=[exp.If(this=missing, true=exp.convert(nothing))], default=found)


def _is_one_row(select: exp.Expr) -> bool:
    clauses = ("group", "having", "limit", "offset")
    plain = isinstance(select, exp.Select) and not any(select.args.get(each) for each in clauses)
    return plain and any(map(has_aggregate, select.expressions))


def _has_one_at_most(select: exp.Expr) -> bool:
    """Return whether the text says of a query that it has no second row."""
    limit = select.args.get("limit")
    if limit is not None and limit.expression.name == "1":
        return True
    if not isinstance(select, exp.Select) or select.args.get("joins"):
        return False
    group, distinct = select.args.get("group"), select.args.get("distinct")
    keys = [*(group.expressions if group else ()), *(select.expressions if distinct and not group else ())]
    if keys and all(isinstance(each, exp.Column) and each.name.lower() in _fixed(select) for each in keys):
        return True
    source = select.args["from_"].this if select.args.get("from_") else None
    inner = source.this if isinstance(source, exp.Subquery) else _named(source)
    return inner is not None and (_is_one_row(inner) or _has_one_at_most(inner))


def _fixed(select: exp.Select) -> set[str]:
    """Return the columns that WHERE takes one value of."""
    where = select.args.get("where")
    equal = [each for each in conjuncts(where.this) if isinstance(each, exp.EQ)] if where else []
    pairs = [pair for each in equal for pair in ((each.left, each.right), (each.right, each.left))]
    return {one.name.lower() for one, other in pairs if isinstance(one, exp.Column) and isinstance(other, exp.Literal)}


def _named(source: exp.Expr | None) -> exp.Expr | None:
    """Return the query that a table is by WITH."""
    if not isinstance(source, exp.Table):
        return None
    query = source.find_ancestor(exp.Query)
    while query is not None:
        for each in query.args["with_"].expressions if query.args.get("with_") else ():
            if each.alias.lower() == source.name.lower() and source.find_ancestor(exp.CTE) is not each:
                return each.this
        query = query.find_ancestor(exp.Query)
    return None


def _beside(
    rows: QueryRows, inner: CorrelatedQuery, grouping: Grouping, value: exp.Expr | None
) -> tuple[QueryRows, exp.Column, exp.Column]:
    """Return the rows, a mark of those that the subquery has rows for, and its value, NULL for all others."""
    keys, others = find_keys(inner.conditions, rows, inner.rows)
    if others or not keys:
        hint = "Keep equalities in WHERE of the subquery, or join it."
        wrong = (others or inner.conditions)[0]
        raise refused(wrong, f"{shown(wrong)} is no equality of the subquery and the query around it", hint)
    for key in keys:
        grouping.add_key(key.right)
    over = None if value is None else grouping.over(value)
    names = dict(grouping.keys)
    made, found = grouping.grouped(), "mark"
    if over is not None:
        made, found = made.computed(over, "value")
    mark = made.names.new("mark")
    made = made.with_columns({mark: nw.lit(1, nw.Int64)})
    on = [
        exp.EQ(this=key.left, expression=internal_column(names[key.right.unnest()], "key", key.right)) for key in keys
    ]
    joined = outer_join(rows, JoinClause("left", made, tuple(on)))
    return joined, internal_column(mark, mark, inner.node), internal_column(found, found, inner.node)


def _of_nothing(grouping: Grouping, value: exp.Expr) -> exp.Expr:
    """Return a value over aggregates as it is of no rows: counts are 0, and all else NULL."""
    aggregates = {name: node for node, name, _ in grouping.aggregates}
    root = exp.Paren(this=grouping.over(value))
    for each in [*root.find_all(exp.Column)]:
        is_count = isinstance(aggregates.get(each.name), exp.Count)
        each.replace(exp.Literal.number(0) if is_count else exp.Null())
    return root
