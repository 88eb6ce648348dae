"""A number that is computed of a column, within bounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from penstock.core.errors import ConfigError, did_you_mean
from penstock.rules.base import ColumnRule, RuleVerdict, require_type
from penstock.rules.limits import check_limits, check_number, is_within, show, show_limits
from penstock.statistics.base import Statistic
from penstock.statistics.column_sums import ColumnSums
from penstock.statistics.distinct.top_k import TopK
from penstock.statistics.distinct.value_counts import ValueCounts
from penstock.statistics.extremes import Extremes
from penstock.statistics.moments import Moments
from penstock.statistics.quantiles import Quantiles

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset

MEASURES: Mapping[str, tuple[Callable[[tuple[str, ...]], Statistic], Callable[[Any], Any]]] = {
    "mean": (Moments, lambda moment: moment.mean),
    "std": (Moments, lambda moment: moment.std(ddof=1)),
    "sum": (ColumnSums, lambda total: total.sum if total.count else None),
    "min": (Extremes, lambda extreme: extreme.min),
    "max": (Extremes, lambda extreme: extreme.max),
    "median": (Quantiles, lambda distribution: distribution.median),
    "distinct": (lambda columns: ValueCounts(columns, TopK(top=1)), lambda counts: counts.distinct),
}
"""By name, the statistic, and how the number is read off its result for one column."""
NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
_QUANTILE = re.compile(r"q(0(\.\d+)?|1(\.0+)?)")


@dataclass(frozen=True)
class Bounds(ColumnRule):
    """A number that is computed of a column is at least one bound and at most another.

    Parameters
    ----------
    column : str
        Of numbers or booleans; for ``"distinct"`` of any type but nested ones.
    measure : str
        ``"mean"``, ``"std"`` (of a sample, as pandas, Polars and MLlib have it), ``"sum"``, ``"min"``, ``"max"``,
        ``"median"``, a quantile such as ``"q0.95"``, or ``"distinct"``, how many different values there are.
    least, most : number, optional
        One may be left out.

    Notes
    -----
    Nulls are left out. Where all values are null only ``"distinct"`` can be computed, and ``"std"`` takes two values:
    otherwise the rule is broken. It is too where a mean or a spread is asked for of infinite values. A quantile is a
    value of the data; of more than 65,536 values it is read off a sketch, whose rank is wrong by a thousandth of the
    rows at most.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"price": [1.0, None, 3.0, 8.0]}))
    >>> print(data.check(ps.rules.Bounds("price", "mean", most=3.5)).outcomes[0].message)
    mean of price is 4
    """

    measure: str
    _: KW_ONLY
    least: float | None = None
    most: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.measure not in MEASURES and not _QUANTILE.fullmatch(str(self.measure)):
            raise ConfigError(
                f"measure of Bounds is {self.measure!r}, expected one of {', '.join(MEASURES)}, or a quantile as q0.95."
                f"{did_you_mean(str(self.measure), MEASURES)}"
            )
        check_number("Bounds", "least", self.least)
        check_number("Bounds", "most", self.most)
        check_limits("Bounds", self.least, self.most)

    @property
    def expected(self) -> str:
        return f"{self.measure} {show_limits(self.least, self.most)}"

    def bind(self, dataset: Dataset) -> Self:
        """Check that the column is of numbers."""
        field = super().bind(dataset) and dataset.schema.field(self.column)
        if self.measure == "distinct":
            require_type(field, self, [lambda kind: not pa.types.is_nested(kind)], "values that are not nested")
        else:
            require_type(field, self, NUMBERS, "numbers; Between compares dates and texts")
        return self

    def statistics(self, dataset: Dataset) -> dict[str, Statistic]:
        """Return the statistic that the number is of."""
        statistic, _ = MEASURES.get(self.measure, (Quantiles, None))
        return {"measured": statistic((self.column,))}

    def judge(self, results: Mapping[str, Any]) -> RuleVerdict:
        """Compare the number."""
        value = self._read_off(results["measured"][self.column])
        if value is None:
            return RuleVerdict(False, None, f"{self.column} has too few values for a {self.measure}")
        passed = is_within(value, self.least, self.most)
        return RuleVerdict(passed, value, f"{self.measure} of {self.column} is {show(value)}")

    def _read_off(self, result: Any) -> Any:
        if self.measure in MEASURES:
            return MEASURES[self.measure][1](result)
        return result.quantile(float(self.measure[1:]))
