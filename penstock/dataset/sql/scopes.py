"""What names of tables and columns stand for, where they are used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from penstock.dataset.sql.names import matches
from penstock.dataset.sql.refusals import refused, unknown_column, unknown_table


@dataclass(frozen=True)
class FromTable:
    """A table of FROM: its name, and its columns, each by what the rows call it."""

    name: str
    columns: dict[str, str]


@dataclass(frozen=True)
class Scope:
    """The tables that names may be of.

    Parameters
    ----------
    sources : tuple of FromTable
    merged : dict of str to str
        The columns of USING, which are one column of both tables, by what the rows call them.
    outer : Scope, optional
        That of the query which this one is a subquery of.
    """

    sources: tuple[FromTable, ...] = ()
    merged: dict[str, str] = field(default_factory=dict)
    outer: Scope | None = None

    def find(self, column: exp.Column) -> tuple[str, str] | None:
        """Return the name of a column, and what the rows call it; None for one that is not there.

        Raises
        ------
        ConfigError
            Several columns have the name; there is no such table; or the name has more parts.
        """
        if column.args.get("db") is not None or column.args.get("catalog") is not None:
            raise refused(column, f"{column.sql()} has more than two parts", "Write table.column.")
        table = column.args.get("table")
        if table is None and (names := matches(column.this, self.merged)):
            return names[0], self.merged[names[0]]
        found = [
            (source, name) for source in self._named(column, table) for name in matches(column.this, source.columns)
        ]
        if len(found) > 1:
            places = ", ".join(f"{source.name}.{name}" for source, name in found)
            raise refused(column, f"column {column.name!r} is ambiguous: {places}", "Write the table before it.")
        return (found[0][1], found[0][0].columns[found[0][1]]) if found else None

    def _named(self, column: exp.Expr, table: exp.Identifier | None) -> list[FromTable]:
        """Return the tables that have a name, all unless it is given."""
        if table is None:
            return list(self.sources)
        names = matches(table, [source.name for source in self.sources])
        if not names and self.outer is None:
            raise unknown_table(column, table.name, [source.name for source in self.sources])
        return [source for source in self.sources if source.name in names]

    def star(self, node: exp.Expr, table: exp.Identifier | None = None) -> dict[str, str]:
        """Return the columns that ``*`` stands for, by name.

        Raises
        ------
        ConfigError
            Two of them have one name.
        """
        merged = {} if table is not None else self.merged
        taken: dict[str, str] = {}
        for source in self._named(node, table):
            for name, internal in source.columns.items():
                if name in taken and name not in merged:
                    raise refused(
                        node,
                        f"* has two columns {name!r}",
                        f"Name the columns, one of them by AS: {source.name}.{name} AS {name}_2.",
                    )
                taken.setdefault(name, merged.get(name, internal))
        return taken

    def names(self) -> list[str]:
        """Return the names of all columns."""
        return list(dict.fromkeys(name for source in self.sources for name in source.columns))


def within(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the nodes of an expression but for those inside subqueries, which are yielded and not entered."""
    yield from node.walk(prune=lambda each: isinstance(each, exp.Query))


def internal_column(name: str, shown: str, at: exp.Expr) -> exp.Column:
    """Return a column by what the rows call it, at the place of a node."""
    identifier = exp.Identifier(this=name, quoted=True)
    identifier.meta.update(next((each.meta for each in at.walk() if "start" in each.meta), {}))
    column = exp.Column(this=identifier)
    column.meta["name"] = shown
    return column


def resolve(
    node: exp.Expr, scope: Scope, aliases: Callable[[exp.Column], exp.Expr | None] = lambda column: None
) -> exp.Expr:
    """Return a copy of an expression in which columns are called as in the rows.

    Parameters
    ----------
    aliases : callable
        Gives the expression that a name of no column stands for, if any.

    Raises
    ------
    SchemaError
        A column is not there.
    """
    root = exp.Paren(this=node.copy())
    root.parent = node.parent
    for column in [each for each in within(root) if isinstance(each, exp.Column)]:
        if isinstance(column.this, exp.Star):
            continue
        found = scope.find(column) or (scope.outer.find(column) if scope.outer is not None else None)
        other = aliases(column) if found is None else internal_column(found[1], found[0], column)
        if other is None:
            raise unknown_column(column, column.name, scope.names())
        column.replace(other)
    return root.this


def columns_of(nodes: Sequence[exp.Expr]) -> set[str]:
    """Return the columns that resolved expressions read."""
    return {each.name for node in nodes for each in within(node) if isinstance(each, exp.Column)}
