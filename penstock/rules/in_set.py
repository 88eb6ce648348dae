"""A column whose values are some of a set."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.rules.base import ColumnRule, told_as
from penstock.rules.limits import in_type_of, unsuited
from penstock.rules.row_rule import RowRule

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True)
class InSet(ColumnRule, RowRule):
    """Every value of a column is one of a set.

    Parameters
    ----------
    column : str
        Of texts, numbers, booleans, dates or timestamps.
    values : sequence
        At least one; dates may be written in ISO 8601.

    Notes
    -----
    Null keeps the rule; `NullShare` is about nulls.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"size": ["S", "XL", None, "M"]}))
    >>> print(data.check(ps.rules.InSet("size", ["S", "M", "L"])).outcomes[0].message)
    1 of 4 rows breaks the rule, the first with size = 'XL' in <memory>, row 1
    """

    values: Collection[Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.values, str) or not isinstance(self.values, list | tuple | set | frozenset):
            raise ConfigError(f"values of InSet are {self.values!r}, expected a list", hint='Write ["a", "b"].')
        if not self.values or any(value is None or isinstance(value, list | dict) for value in self.values):
            problem = f"values of InSet are {list(self.values)!r}, expected one or more that are not null"
            raise ConfigError(problem, hint="Null keeps the rule; forbid it with NullShare.")
        object.__setattr__(self, "values", tuple(self.values))

    @property
    def expected(self) -> str:
        return f"values among {told_as(tuple(self.values))}"

    def bind(self, dataset: Dataset) -> Self:
        """Put the values into the type of the column."""
        field = super().bind(dataset) and dataset.schema.field(self.column)
        return replace(
            self,
            values=tuple(_member(in_type_of(value, field, self.title), field, self.title) for value in self.values),
        )

    def broken_by(self) -> nw.Expr:
        """Return whether the value is another."""
        column = nw.col(self.column)
        if isinstance(self.values[0], Decimal):  # type: ignore[index]  # Polars 1 looks up none of another precision
            return ~nw.any_horizontal(*(column == value for value in self.values), ignore_nulls=False)
        return ~column.is_in(list(self.values)) & ~column.is_null()


def _member(value: Any, column: pa.Field, rule: str) -> Any:
    """Return a number as the column holds it; SchemaError for one with a fraction, which no integer is."""
    if pa.types.is_decimal(column.type):
        return Decimal(str(value))
    if pa.types.is_float32(column.type):
        return float(np.float32(value))
    if pa.types.is_integer(column.type):
        if value % 1 != 0:
            raise unsuited(value, column, rule)
        return int(value)
    return value
