"""How many rows there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

from penstock.core.errors import ConfigError
from penstock.rules.base import DatasetRule, RuleVerdict
from penstock.rules.limits import check_limits, is_within, show_limits
from penstock.statistics import counts
from penstock.statistics.base import Statistic

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True)
class RowCount(DatasetRule):
    """There are at least, or at most, so many rows; those that a step before drops do not count.

    Parameters
    ----------
    least, most : int, optional
        One may be left out.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"x": [1, None]}))
    >>> print(data.check(ps.rules.RowCount(least=1000)).outcomes[0].message)
    there are 2 rows
    """

    _: KW_ONLY
    least: int | None = None
    most: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("least", self.least), ("most", self.most)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise ConfigError(f"{name} of RowCount is {value!r}, expected a number of rows")
        check_limits("RowCount", self.least, self.most)

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    @property
    def expected(self) -> str:
        return f"{show_limits(self.least, self.most)} rows"

    def statistics(self, dataset: Dataset) -> dict[str, Statistic]:
        """Return the count of rows."""
        return {"rows": counts.RowCount()}

    def judge(self, results: Mapping[str, Any]) -> RuleVerdict:
        """Compare the count."""
        rows = results["rows"]
        return RuleVerdict(is_within(rows, self.least, self.most), rows, f"there are {rows:,} rows")
