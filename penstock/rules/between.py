"""A column whose values lie between limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Self

import narwhals as nw

from penstock.rules.base import ColumnRule
from penstock.rules.limits import as_date, check_limits, in_type_of, show_limits
from penstock.rules.row_rule import RowRule
from penstock.statistics.base import Statistic
from penstock.statistics.extremes import Extremes

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True)
class Between(ColumnRule, RowRule):
    """Every value of a column is at least one limit and at most another; what is observed are the extremes.

    Parameters
    ----------
    column : str
        Of numbers, texts (compared by their bytes), dates or timestamps.
    least, most : value of the column, optional
        Both are allowed values themselves; one may be left out. Dates and times may be written in ISO 8601.

    Notes
    -----
    Null keeps the rule. An infinite number is compared as any other.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"age": [31, -1, None, 200]}))
    >>> outcome = data.check(ps.rules.Between("age", least=0, most=120)).outcomes[0]
    >>> outcome.observed, outcome.broken, outcome.row
    ({'min': -1, 'max': 200}, 2, 1)
    """

    _: KW_ONLY
    least: Any = None
    most: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_limits("Between", self.least, self.most)

    @property
    def expected(self) -> str:
        return f"values {show_limits(self.least, self.most)}"

    def bind(self, dataset: Dataset) -> Self:
        """Put the limits into the type of the column."""
        field = super().bind(dataset) and dataset.schema.field(self.column)
        least, most = (in_type_of(each, field, self.title) for each in (self.least, self.most))
        return replace(self, least=least, most=most)

    def statistics(self, dataset: Dataset) -> dict[str, Statistic]:
        """Return the count of rows outside the limits, and the extremes."""
        return {**super().statistics(dataset), "extremes": Extremes((self.column,))}

    def others(self, dataset: Dataset) -> dict[str, Any]:
        """Return the type of the column."""
        return {"type": dataset.schema.field(self.column).type}

    def broken_by(self) -> nw.Expr:
        """Return whether the value is outside the limits."""
        column = nw.col(self.column)
        below = [] if self.least is None else [column < self.least]
        above = [] if self.most is None else [column > self.most]
        return reduce(or_, below + above)

    def observed(self, results: Mapping[str, Any]) -> dict[str, Any]:
        """Return the smallest and the largest value, None where all are null."""
        extreme = results["extremes"][self.column]
        return {"min": as_date(extreme.min, results["type"]), "max": as_date(extreme.max, results["type"])}
