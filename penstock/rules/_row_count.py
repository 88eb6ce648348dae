"""How many rows there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.core.errors import ConfigError
from penstock.rules.base import DatasetRule, RuleVerdict
from penstock.rules.limits import check_limits, check_number, is_within, show_limits
from penstock.rules.row_history import RowHistory
from penstock.statistics import counts
from penstock.statistics.base import Statistic

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True)
class RowCount(DatasetRule):
    """There are at least, or at most, so many rows, or about as many as last time; those that are dropped do not count.

    Parameters
    ----------
    least, most : int, optional
        One may be left out, or both where there is `change`.
    change : float, optional
        By which share of the rows of the last run that kept the rule there may be more, or fewer: 0.2 is 20 %.
    history : path or URL, optional
        Where `change` finds that number: a file of JSON lines, of this rule alone, to which each judgement adds one.
        The first run has nothing to be compared with, and keeps the rule.

    Notes
    -----
    A number that breaks the rule is kept, too, and is not compared with later. Where a change is to stay, move the file
    away.

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
    change: float | None = None
    history: str | Path | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("least", self.least), ("most", self.most)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
                raise ConfigError(f"{name} of RowCount is {value!r}, expected a number of rows")
        if (self.change is None) != (self.history is None):
            problem = f"change of RowCount is {self.change!r}, and history {self.history!r}, expected both or none"
            raise ConfigError(problem, hint='Write RowCount(change=0.2, history="state/clicks.jsonl").')
        check_number("RowCount", "change", self.change)
        if self.change is not None and not self.change >= 0:
            raise ConfigError(f"change of RowCount is {self.change!r}, expected a share of 0 or more")
        if self.change is None or (self.least, self.most) != (None, None):
            check_limits("RowCount", self.least, self.most)

    @property
    def reads(self) -> tuple[str, ...]:
        return ()

    @property
    def expected(self) -> str:
        limited = (self.least, self.most) != (None, None)
        limits = [f"{show_limits(self.least, self.most)} rows"] if limited else []
        return " and ".join([*limits, *([] if self.change is None else [f"a change of at most {self.change:.6g}"])])

    def statistics(self, dataset: Dataset) -> dict[str, Statistic]:
        """Return the count of rows."""
        return {"rows": counts.RowCount()}

    def others(self, dataset: Dataset) -> dict[str, Any]:
        """Return how many rows the last run had that kept the rule."""
        return {"last": None if self.history is None else RowHistory(self.history).last()}

    def judge(self, results: Mapping[str, Any]) -> RuleVerdict:
        """Compare the count."""
        rows, last = results["rows"], results["last"]
        passed = is_within(rows, self.least, self.most)
        if self.change is None:
            return RuleVerdict(passed, rows, f"there are {rows:,} rows")
        if last is None:
            return RuleVerdict(passed, rows, f"there are {rows:,} rows, and no earlier run to compare with")
        near = abs(Fraction(rows - last)) <= Fraction(self.change) * last
        return RuleVerdict(passed and near, rows, f"there are {rows:,} rows, and {last:,} last time")

    def recorded(self, verdict: RuleVerdict) -> RuleVerdict:
        """Add the number to the history."""
        if self.history is not None:
            RowHistory(self.history).append(verdict.observed, passed=verdict.passed)
        return verdict
