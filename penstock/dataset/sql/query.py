"""A query from its text to the dataset that it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import narwhals as nw
import pyarrow as pa
from sqlglot import exp

from penstock.core.errors import ConfigError
from penstock.core.scheduler import Scheduler
from penstock.dataset.dataset import Dataset, check_dataset
from penstock.dataset.sql.aggregates import Grouping, check_no_aggregate, has_aggregate
from penstock.dataset.sql.expressions import SqlTranslator
from penstock.dataset.sql.joins import FromClause
from penstock.dataset.sql.names import Names, matches
from penstock.dataset.sql.ordering import SortItem, limited, ordinal, sort_items, sorted_by
from penstock.dataset.sql.parsing import conjuncts, parse
from penstock.dataset.sql.refusals import DIALECT, refused, shown, unknown_column
from penstock.dataset.sql.rows import QueryRows
from penstock.dataset.sql.scopes import Scope, internal_column, resolve
from penstock.dataset.sql.sources import Context, inside, renamed, renamed_ctes
from penstock.dataset.sql.subqueries import attached, has_query, kept, restricted
from penstock.dataset.sql.values import as_kind, common_kind


def query(engine: Scheduler, text: str, tables: Mapping[str, Dataset]) -> Dataset:
    """Return the rows of a query over tables by name, on an engine; see `RelationalEngine.sql`."""
    try:
        return _queried(engine, text, tables)
    except RecursionError:
        pass
    raise ConfigError(
        f"SQL, line 1, column 1: the text is nested too deeply, or has too many terms in a row: {text[:60]!r}...",
        hint="Write IN (...) for many ORs, leave out parentheses, and put parts of it into queries by WITH, or"
        " together by dataset.union.",
    )


def _queried(engine: Scheduler, text: str, tables: Mapping[str, Dataset]) -> Dataset:
    statement = parse(text)
    if not tables:
        raise ConfigError("engine.sql is given no table", hint="Pass datasets by name: engine.sql(text, trips=trips).")
    for dataset in tables.values():
        check_dataset(dataset, "engine.sql")
    own = {name: replace(dataset, engine=engine) for name, dataset in tables.items()}
    return run(statement, Context(own, run))


def run(node: exp.Expr, context: Context) -> Dataset:
    """Return the rows of a query of a tree."""
    context = _with_ctes(node, context)
    if isinstance(node, exp.Subquery):
        return run(inside(node), context)
    if isinstance(node, exp.SetOperation):
        return combined(node, context)
    if not isinstance(node, exp.Select):
        raise refused(node, f"{node.key.upper()} is not supported: {shown(node)}", "Write SELECT ... FROM ...")
    return select(node, context)


def _with_ctes(node: exp.Expr, context: Context) -> Context:
    named = node.args.get("with_")
    if named is None:
        return context
    if named.args.get("recursive"):
        raise refused(named, "WITH RECURSIVE is not supported", "Write the steps one by one.")
    for each in named.expressions:
        context = context.with_table(each.alias, renamed_ctes(context, each))
    return context


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


_SELECT_CLAUSES = {
    "with_", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "expressions", "distinct",
}  # fmt: skip


@dataclass(frozen=True)
class Output:
    """A column of the result: its name, and what it is, over the rows."""

    name: str
    node: exp.Expr


def select(node: exp.Select, context: Context) -> Dataset:
    """Return what a SELECT gives, whose WITH is in the context."""
    check_clauses(node)
    empty = QueryRows(next(iter(context.tables.values())), Names())
    tables = FromClause.of(node, context, empty)
    where = node.args.get("where")
    conditions = [] if where is None else conjuncts(resolve(where.this, tables.scope))
    check_no_aggregate(conditions, "WHERE")
    rows = restricted(tables, conditions)
    outputs = _outputs(node, tables.scope)
    return _finished(node, replace(context, outer=tables.scope), rows, outputs)


def check_clauses(node: exp.Select) -> None:
    """Raise ConfigError for a clause that the dialect has not."""
    for name, value in node.args.items():
        if value and name not in _SELECT_CLAUSES:
            at = value[0] if isinstance(value, list) else value
            what = name.strip("_").upper().replace("_", " ")
            hint = "docs/relational.md lists what the dialect has; verbs have more."
            raise refused(at if isinstance(at, exp.Expr) else node, f"{what} is not supported", hint)
    if node.args.get("from_") is None:
        raise refused(node, "SELECT has no FROM", "Select from a table: its rows are what comes out.")
    distinct = node.args.get("distinct")
    if distinct is not None and distinct.args.get("on") is not None:
        raise refused(distinct, "DISTINCT ON is not supported", 'Use dataset.sort(...).unique("x", keep="first").')


def _outputs(node: exp.Select, scope: Scope) -> list[Output]:
    made = [output for each in node.expressions for output in _output(each, scope)]
    names: dict[str, Output] = {}
    for each in made:
        if each.name in names:
            raise refused(each.node, f"two columns are called {each.name!r}", f"Name one of them: AS {each.name}_2.")
        names[each.name] = each
    return made


def _output(node: exp.Expr, scope: Scope) -> list[Output]:
    star = node if isinstance(node, exp.Star) else node.this if isinstance(node, exp.Column) else None
    if isinstance(star, exp.Star):
        if any(star.args.get(each) for each in star.args):
            raise refused(node, f"{shown(node)} is not supported", "Name the columns, or use dataset.select.")
        table = node.args.get("table") if isinstance(node, exp.Column) else None
        columns = scope.star(node, table)
        return [Output(name, internal_column(internal, name, node)) for name, internal in columns.items()]
    inner = node.unalias()
    resolved = resolve(inner, scope)
    if isinstance(node, exp.Alias):
        return [Output(node.alias, resolved)]
    text = inner.unnest().sql(dialect=DIALECT, normalize_functions="lower")
    return [Output(resolved.meta["name"] if isinstance(resolved, exp.Column) else text, resolved)]


def alias_of(outputs: Sequence[Output], column: exp.Column) -> exp.Expr | None:
    """Return what a name of the list stands for, if it is one."""
    if column.args.get("table") is not None:
        return None
    names = matches(column.this, [each.name for each in outputs])
    return next((each.node.copy() for each in outputs if names and each.name == names[0]), None)


def _finished(node: exp.Select, context: Context, rows: QueryRows, outputs: list[Output]) -> Dataset:
    scope = context.outer or Scope()
    order = sort_items(node, lambda item: _listed(item, scope, outputs, "ORDER BY"))
    clause = node.args.get("having")
    having = [] if clause is None else conjuncts(_listed(clause.this, scope, outputs, ""))
    computed = [*(each.node for each in outputs), *(each.node for each in order), *having]
    if node.args.get("group") is not None or clause is not None or any(map(has_aggregate, computed)):
        grouping = Grouping(rows)
        for key in _keys(node, scope, outputs):
            grouping.add_key(key)
        outputs = [replace(each, node=grouping.over(each.node)) for each in outputs]
        order = [replace(each, node=grouping.over(each.node)) for each in order]
        having = [grouping.over(each) for each in having]
        rows = grouping.grouped()
        for each in having:
            rows = kept(rows, each, context) if has_query(each) else rows.where([each])
    for place, output in enumerate(outputs):
        if has_query(output.node):
            rows, value = attached(rows, output.node, context)
            outputs[place] = replace(output, node=value)
    return _projected(node, rows, outputs, order)


def _listed(item: exp.Expr, scope: Scope, outputs: Sequence[Output], clause: str) -> exp.Expr:
    """Return what a clause goes by: a column of the list by number or name, or an expression over the tables.

    A name alone is first that of the list in ORDER BY, and first that of a table elsewhere.
    """
    if clause and isinstance(item, exp.Literal) and not item.is_string:
        return outputs[ordinal(item, len(outputs), clause)].node
    if clause == "ORDER BY" and isinstance(item, exp.Column) and (named := alias_of(outputs, item)) is not None:
        return named
    return resolve(item, scope, lambda column: alias_of(outputs, column))


def _keys(node: exp.Select, scope: Scope, outputs: Sequence[Output]) -> list[exp.Expr]:
    group = node.args.get("group")
    if group is None:
        return []
    extra = [name for name, value in group.args.items() if value and name not in ("expressions", "all")]
    extra += [each.key for each in group.expressions if isinstance(each, exp.Rollup | exp.Cube | exp.GroupingSets)]
    if extra:
        problem = f"{extra[0].upper()} is not supported in GROUP BY"
        raise refused(group, problem, "Write a UNION ALL of several queries.")
    if group.args.get("all"):
        return [each.node for each in outputs if not has_aggregate(each.node)]
    return [_listed(each, scope, outputs, "GROUP BY") for each in group.expressions]


def _projected(node: exp.Select, rows: QueryRows, outputs: list[Output], order: list[SortItem]) -> Dataset:
    """Return the columns of the list, of sorted rows."""
    names = [each.name for each in outputs]
    translate = SqlTranslator(rows.dataset.schema)
    columns = {each.name: translate.column(each.node) for each in outputs if not _is_itself(each)}
    by, hidden = _sort_columns(rows, outputs, order, is_distinct=node.args.get("distinct") is not None)
    dataset = rows.with_columns({**columns, **hidden}).dataset
    if node.args.get("distinct") is not None:
        dataset = dataset.select(names).unique()
    return limited(node, sorted_by(dataset, order, by).select(names))


def _is_itself(output: Output) -> bool:
    node = output.node.unnest()
    return isinstance(node, exp.Column) and node.name == output.name


def _sort_columns(
    rows: QueryRows, outputs: Sequence[Output], order: Sequence[SortItem], *, is_distinct: bool
) -> tuple[list[str], dict[str, nw.Expr]]:
    """Return the columns to sort by, and those of them that have to be made for it."""
    by, hidden = [], {}
    taken = Names([*rows.dataset.columns, *(each.name for each in outputs)])
    for item in order:
        known = next((each.name for each in outputs if each.node.unnest() == item.node.unnest()), None)
        if known is None and is_distinct:
            problem = f"ORDER BY {shown(item.node)} is not in SELECT DISTINCT"
            raise refused(item.node, problem, "Add it to the list, or sort before.")
        name = known or taken.new("sort")
        if known is None:
            hidden[name] = SqlTranslator(rows.dataset.schema).column(item.node)
        by.append(name)
    return by, hidden
