"""The tables of FROM: datasets by name, names of WITH, and subqueries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.dataset.dataset import Dataset
from penstock.dataset.sql.names import Names, matches
from penstock.dataset.sql.refusals import refused, shown, unknown_table
from penstock.dataset.sql.rows import QueryRows
from penstock.dataset.sql.scopes import FromTable, Scope

_TABLE_ARGS = {"this", "alias"}


@dataclass(frozen=True)
class Context:
    """What a query may name, and how a query within it is run.

    Parameters
    ----------
    tables : mapping of str to Dataset
    run : callable
        Makes a dataset of a query, given it and a context.
    outer : Scope, optional
        The columns of the query that this one is a subquery of.
    """

    tables: Mapping[str, Dataset]
    run: Callable[[exp.Expr, Context], Dataset]
    outer: Scope | None = None

    def with_table(self, name: str, dataset: Dataset) -> Context:
        """Return the context with one more table, which hides another of its name."""
        others = {key: value for key, value in self.tables.items() if key.lower() != name.lower()}
        return replace(self, tables={**others, name: dataset})

    def dataset(self, node: exp.Expr) -> tuple[str, Dataset]:
        """Return a table of FROM: its name, and its rows.

        Raises
        ------
        ConfigError
            There is none of the name, or it is more than a name.
        """
        alias = node.args.get("alias")
        if isinstance(node, exp.Subquery):
            made = self.run(inside(node), replace(self, outer=None))
            return node.alias or "", _with_names(made, alias)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise _no_table(node)
        extra = [name for name, value in node.args.items() if value and name not in _TABLE_ARGS]
        if extra:
            raise refused(node, f"{shown(node)} is more than a table's name", "Write FROM trips AS t.")
        return node.alias or node.name, _with_names(self._table(node), alias)

    def _table(self, node: exp.Table) -> Dataset:
        names = matches(node.this, self.tables)
        if len(names) != 1:
            raise unknown_table(node, node.name, self.tables)
        return self.tables[names[0]]


def inside(node: exp.Subquery) -> exp.Expr:
    """Return the query between parentheses; ConfigError where more than a name stands behind them."""
    extra = [name for name, value in node.args.items() if value and name not in (*_TABLE_ARGS, "with_")]
    if extra:
        raise refused(node, f"{extra[0].upper()} behind parentheses is not supported", "Write it between them.")
    return node.this


def _no_table(node: exp.Expr) -> Exception:
    what = "a function or file" if isinstance(node, exp.Table) else node.key.upper()
    return refused(
        node,
        f"{shown(node)} is {what} in FROM, where tables, names of WITH and subqueries can stand",
        "Read it by the engine, and pass the dataset by name: engine.sql(text, trips=engine.read_parquet(path)).",
    )


def _with_names(dataset: Dataset, alias: exp.Expr | None) -> Dataset:
    """Return a dataset with the names that ``AS t(a, b)`` gives its columns."""
    columns = [] if alias is None else [each.name for each in alias.args.get("columns") or ()]
    if not columns:
        return dataset
    assert alias is not None
    if len(columns) > len(dataset.columns):
        problem = f"{alias.sql()} names {len(columns)} columns, of {len(dataset.columns)}"
        raise refused(alias, problem, "Name as many, or fewer.")
    return renamed(dataset, columns)


def renamed_ctes(context: Context, node: exp.CTE) -> Dataset:
    """Return the rows of a name of WITH."""
    return _with_names(context.run(node.this, replace(context, outer=None)), node.args.get("alias"))


def named(name: str, dataset: Dataset, names: Names) -> tuple[FromTable, QueryRows]:
    """Return a table with columns called as in no other, and what they are called in it."""
    columns = {each: names.new(each, f"{name}_{each}") for each in dataset.columns}
    return FromTable(name, columns), QueryRows(renamed(dataset, list(columns.values())), names)


def renamed(dataset: Dataset, names: Sequence[str]) -> Dataset:
    """Return a dataset whose first columns have other names."""
    changed = {old: new for old, new in zip(dataset.columns, names, strict=False) if old != new}
    return dataset.rename(changed) if changed else dataset
