"""A column whose sum is that of a column of another dataset."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from penstock.core.errors import ConfigError
from penstock.core.schemas import require
from penstock.rules.base import ColumnRule, RuleVerdict, check_column, require_type
from penstock.rules.bounds import NUMBERS
from penstock.rules.limits import check_number, show
from penstock.rules.references import dataset_of
from penstock.statistics.base import Statistic
from penstock.statistics.column_sums import ColumnSums

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True)
class SumEquals(ColumnRule):
    """The sum of a column is that of a column of another dataset, which is scanned besides.

    Parameters
    ----------
    column : str
        Of numbers.
    other : Dataset or path
        Of files the format is found by the suffix; Parquet where there is none.
    other_column : str, optional
        Called as `column` unless given.
    tolerance : float, default=0.0
        How far the sums may be apart.

    Notes
    -----
    Nulls are left out; the sum of no values is 0. Integers and decimals are added exactly. Floats are rounded as they
    are added, differently for other partitions: give them a tolerance.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> engine = ps.LocalEngine(device="cpu")
    >>> orders = engine.from_arrow(pa.table({"total": [30, 12, None]}))
    >>> items = engine.from_arrow(pa.table({"price": [10, 20, 11]}))
    >>> print(orders.check(ps.rules.SumEquals("total", items, "price")).outcomes[0].message)
    sum of total is 42, of price of the other 41
    """

    other: Any
    other_column: str | None = None
    _: KW_ONLY
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "other_column", self.other_column or self.column)
        check_column(self, self.other_column)
        check_number("SumEquals", "tolerance", self.tolerance)
        if self.tolerance is None or not 0 <= self.tolerance < math.inf:
            raise ConfigError(f"tolerance of SumEquals is {self.tolerance!r}, expected a number of 0 or more")

    @property
    def expected(self) -> str:
        apart = f" by more than {show(self.tolerance)}" if self.tolerance else ""
        return f"sums that do not differ{apart}"

    def bind(self, dataset: Dataset) -> Self:
        """Open the other dataset, and check that both columns are of numbers."""
        super().bind(dataset)
        other = dataset_of(self.other, dataset, "SumEquals")
        require(other.schema, str(self.other_column), stage=self.title)
        for each, column in ((dataset, self.column), (other, self.other_column)):
            require_type(each.schema.field(column), self, NUMBERS, "numbers")
        return replace(self, other=other)

    def statistics(self, dataset: Dataset) -> dict[str, Statistic]:
        """Return the sum."""
        return {"sums": ColumnSums((self.column,))}

    def others(self, dataset: Dataset) -> dict[str, Any]:
        """Return the sum of the other dataset."""
        sums = ColumnSums((str(self.other_column),))
        states, _ = self.other.gather((sums,), label="check other")
        return {"other": sums.finish(states[0])[str(self.other_column)].sum}

    def judge(self, results: Mapping[str, Any]) -> RuleVerdict:
        """Compare the sums."""
        own, other = results["sums"][self.column].sum, results["other"]
        message = f"sum of {self.column} is {show(own)}, of {self.other_column} of the other {show(other)}"
        return RuleVerdict(_are_near(own, other, self.tolerance), {"sum": own, "other": other}, message)


def _are_near(own: Any, other: Any, tolerance: float) -> bool:
    if not (math.isfinite(own) and math.isfinite(other)):
        return bool(own == other)
    return abs(Fraction(own) - Fraction(other)) <= Fraction(tolerance)
