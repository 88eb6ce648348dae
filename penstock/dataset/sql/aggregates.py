"""GROUP BY: aggregates as those of `Dataset.group_by`, with what SQL says of nothing, which is NULL but for counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import pyarrow as pa
from sqlglot import exp

from penstock.dataset.sql.expressions import check_arguments
from penstock.dataset.sql.refusals import refused, shown
from penstock.dataset.sql.rows import QueryRows
from penstock.dataset.sql.scopes import internal_column, within
from penstock.dataset.sql.values import BOOL, is_number

Build = Callable[[nw.Expr], nw.Expr]


def _sum(column: nw.Expr) -> nw.Expr:
    return nw.when(column.count() > 0).then(column.sum())


def _distinct(column: nw.Expr) -> nw.Expr:
    return nw.when(nw.len() > column.count()).then(column.n_unique() - 1).otherwise(column.n_unique())


_NUMBERS: Mapping[type, Build] = {
    exp.Sum: _sum, exp.Avg: lambda column: column.mean(), exp.Stddev: lambda column: column.std(ddof=1),
    exp.StddevSamp: lambda column: column.std(ddof=1), exp.StddevPop: lambda column: column.std(ddof=0),
    exp.Variance: lambda column: column.var(ddof=1), exp.VariancePop: lambda column: column.var(ddof=0),
    exp.Median: lambda column: column.median(),
}  # fmt: skip
_BOOLEANS: Mapping[type, Build] = {
    exp.LogicalOr: lambda column: nw.when(column.count() > 0).then(column.any()),
    exp.LogicalAnd: lambda column: nw.when(column.count() > 0).then(column.all()),
}
_OTHERS: Mapping[type, Build] = {exp.Min: lambda column: column.min(), exp.Max: lambda column: column.max()}
_KNOWN: Mapping[type, Build] = {**_NUMBERS, **_BOOLEANS, **_OTHERS}
NAMES = "count, sum, avg, min, max, stddev, stddev_pop, variance, var_pop, median, bool_and, bool_or"


def first_aggregate(node: exp.Expr) -> exp.Expr | None:
    """Return the first aggregate in an expression that is in no window."""
    return next((each for each in within(node) if isinstance(each, exp.AggFunc) and not _in_window(each)), None)


def has_aggregate(node: exp.Expr) -> bool:
    """Return whether an expression is one over aggregates."""
    return first_aggregate(node) is not None


def _in_window(node: exp.Expr) -> bool:
    return isinstance(node.find_ancestor(exp.Window, exp.Query), exp.Window)


@dataclass
class Grouping:
    """Rows that are to be grouped: keys and aggregates, by the names of the columns that they become.

    Parameters
    ----------
    rows : QueryRows
        With all columns that keys and aggregates are of.
    """

    rows: QueryRows
    keys: list[tuple[exp.Expr, str]] = field(default_factory=list)
    aggregates: list[tuple[exp.Expr, str, nw.Expr]] = field(default_factory=list)

    def add_key(self, node: exp.Expr) -> None:
        """Note a resolved expression that rows are grouped by."""
        if has_aggregate(node):
            raise refused(node, f"GROUP BY has an aggregate: {shown(node)}", "Group by it in a query around this one.")
        if all(node.unnest() != known for known, _ in self.keys):
            self.rows, name = self.rows.computed(node, "key")
            self.keys.append((node.unnest(), name))

    def over(self, node: exp.Expr) -> exp.Expr:
        """Return an expression over the columns of the groups, of one over those of the rows.

        Raises
        ------
        ConfigError
            A column in it is neither a key nor in an aggregate.
        """
        root = exp.Paren(this=node.copy())
        root.parent = node.parent
        self._replace(root)
        return root.this

    def _replace(self, node: exp.Expr) -> None:
        for child in list(node.iter_expressions()):
            name = self._column(child)
            if name is not None:
                child.replace(internal_column(name, str(child.meta.get("name", name)), child))
            elif isinstance(child, exp.Column):
                problem = f"column {child.meta.get('name', child.name)!r} is neither in GROUP BY nor in an aggregate"
                raise refused(child, problem, "Add it to GROUP BY, or take max(...) of it.")
            elif not isinstance(child, exp.Query):
                self._replace(child)

    def _column(self, node: exp.Expr) -> str | None:
        """Return the column that a node becomes; None for what is made of several."""
        if (key := next((name for known, name in self.keys if known == node.unnest()), None)) is not None:
            return key
        inner = node.this if isinstance(node, exp.Filter) else node
        if not isinstance(inner, exp.AggFunc) or isinstance(node.parent, exp.Window):
            return None
        known = next((name for aggregate, name, _ in self.aggregates if aggregate == node), None)
        return known or self._aggregate(node, inner)

    def _aggregate(self, node: exp.Expr, inner: exp.AggFunc) -> str:
        name = self.rows.names.new(inner.key)
        condition = node.expression.this if isinstance(node, exp.Filter) else None
        made = self._built(inner, condition)
        self.aggregates.append((node.copy(), name, made))
        return name

    def _built(self, node: exp.AggFunc, condition: exp.Expr | None) -> nw.Expr:
        check_arguments(node, {"this", "expressions", "big_int"})
        argument = node.this
        if isinstance(node, exp.Count) and (argument is None or isinstance(argument, exp.Star)):
            if condition is None:
                return nw.len()
            return self._argument(exp.Literal.number(1), condition)[0].count()
        is_distinct = isinstance(argument, exp.Distinct)
        parts = argument.expressions if is_distinct else [argument, *node.expressions]
        if len(parts) != 1:
            raise refused(node, f"{shown(node)} takes one argument", "Count the rows of SELECT DISTINCT in a subquery.")
        if isinstance(node, exp.Count):
            column = self._argument(parts[0], condition)[0]
            return _distinct(column) if is_distinct else column.count()
        if type(node) not in _KNOWN:
            raise refused(node, f"there is no aggregate {shown(node)}", f"Aggregates are: {NAMES}.")
        if is_distinct and not isinstance(node, exp.Min | exp.Max):
            raise refused(node, f"{shown(node)} is not supported", "Take it of SELECT DISTINCT in a subquery.")
        return self._known(node, parts[0], condition)

    def _known(self, node: exp.AggFunc, argument: exp.Expr, condition: exp.Expr | None) -> nw.Expr:
        column, kind = self._argument(argument, condition)
        wanted, fits = "plain values", not pa.types.is_nested(kind)
        if type(node) in _NUMBERS:
            wanted, fits = "numbers", is_number(kind)
        elif type(node) in _BOOLEANS:
            wanted, fits = "conditions", kind == BOOL
        if not fits:
            raise refused(node, f"{shown(node)} takes {wanted}, found {kind}", "Cast it: CAST(x AS BIGINT).")
        return _KNOWN[type(node)](column)

    def _argument(self, node: exp.Expr, condition: exp.Expr | None) -> tuple[nw.Expr, pa.DataType]:
        """Return the column that an aggregate is of, and its type."""
        if (nested := first_aggregate(node)) is not None:
            raise refused(nested, f"an aggregate stands in another: {shown(nested)}", "Take it in a subquery.")
        if condition is not None:
            node = exp.Case(ifs=[exp.If(this=condition.copy(), true=node.copy())])
        self.rows, name = self.rows.computed(node, "value")
        return nw.col(name), self.rows.dataset.schema.field(name).type

    def grouped(self) -> QueryRows:
        """Return one row for each key, or one for all rows."""
        keys = [name for _, name in self.keys]
        aggregates: dict[str, Any] = {name: made for _, name, made in self.aggregates}
        if not aggregates:
            return replace(self.rows, dataset=self.rows.dataset.select(*keys).unique())
        return replace(self.rows, dataset=self.rows.dataset.group_by(*keys).agg(**aggregates))


def check_no_aggregate(nodes: Sequence[exp.Expr], clause: str) -> None:
    """Raise ConfigError for an aggregate in a clause that is asked of rows."""
    for node in nodes:
        if (found := first_aggregate(node)) is not None:
            raise refused(found, f"{clause} has an aggregate: {shown(found)}", "Ask for it in HAVING.")
