"""Rows on the way through a query: a dataset whose columns have names of their own, whatever tables they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import pyarrow as pa
from sqlglot import exp

from penstock.dataset.dataset import Dataset
from penstock.dataset.sql.expressions import SqlTranslator
from penstock.dataset.sql.names import Names
from penstock.dataset.sql.values import Value
from penstock.expressions.guarded import guarded_part


@dataclass(frozen=True)
class QueryRows:
    """QueryRows, with what is computed of them.

    Parameters
    ----------
    dataset : Dataset
    names : Names
        From which new columns take theirs.
    """

    dataset: Dataset
    names: Names

    def value(self, node: exp.Expr) -> Value:
        """Return the value of a resolved expression."""
        return SqlTranslator(self.dataset.schema).value(node)

    def with_columns(self, columns: Mapping[str, nw.Expr]) -> QueryRows:
        """Return the rows with columns added or replaced."""
        return replace(self, dataset=self.dataset.with_columns(columns)) if columns else self

    def where(self, conditions: Sequence[exp.Expr]) -> QueryRows:
        """Return the rows for which resolved conditions are all true."""
        dataset = self.dataset
        for condition in conditions:
            dataset = _filtered(dataset, condition)
        return replace(self, dataset=dataset)

    def computed(self, node: exp.Expr, *wanted: str) -> tuple[QueryRows, str]:
        """Return the rows with a resolved expression as a column, and what that is called."""
        if isinstance(node.unnest(), exp.Column):
            return self, node.unnest().name
        name = self.names.new(*wanted)
        return self.with_columns({name: SqlTranslator(self.dataset.schema).column(node)}), name


def _filtered(dataset: Dataset, condition: exp.Expr) -> Dataset:
    predicate = SqlTranslator(dataset.schema).condition(condition)
    if any(isinstance(each, exp.Column) for each in condition.walk()):
        return dataset.filter(predicate)
    # A constant condition keeps all rows or none; a filter is of columns.
    return dataset if constant_value(condition) else dataset.limit(0)


def constant_value(node: exp.Expr) -> Any:
    """Return the value of an expression that reads no column."""
    made = SqlTranslator(pa.schema([])).value(node)
    value = guarded_part(made.expr, pa.schema([])).expr
    return nw.from_dict({"one": [1]}, backend="polars").select(value.alias("made"))["made"].to_list()[0]
