"""What a check found: an outcome for each rule."""

from __future__ import annotations

import datetime
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from penstock.core.displayed import Displayed
from penstock.core.errors import BrokenRulesError
from penstock.core.redaction import presentable
from penstock.rules.limits import show

if TYPE_CHECKING:
    import polars as pl

_STATUSES = {"error": "failed", "quarantine": "quarantined", "warn": "warned"}
_COLUMNS = (
    "rule", "columns", "severity", "status", "passed", "observed", "expected", "broken", "message", "path", "row"
)  # fmt: skip


@dataclass(frozen=True)
class RuleOutcome:
    """What became of one rule.

    Attributes
    ----------
    rule : str
        As it is written in Python.
    columns : tuple of str
    severity : str
        ``"error"``, ``"quarantine"`` or ``"warn"``.
    passed : bool
    observed : Any
        The value that was compared: a number, a date, or a mapping of some; None where there is none.
    expected : str
    message : str
        What was found, with the count, and for rules that can name rows the first.
    broken : int or None
        How many rows break the rule; None for rules about no single rows.
    path : str or None
        The file of the first such row.
    row : int or None
        Its number in the file, from 0.
    """

    rule: str
    columns: tuple[str, ...]
    severity: str
    passed: bool
    observed: Any
    expected: str
    message: str
    broken: int | None = None
    path: str | None = None
    row: int | None = None

    @property
    def status(self) -> str:
        """``"passed"``, ``"warned"``, ``"quarantined"`` or ``"failed"``."""
        return "passed" if self.passed else _STATUSES[self.severity]

    def __str__(self) -> str:
        return presentable(f"{self.rule}: {self.message}, expected {self.expected}")


@dataclass(frozen=True, repr=False)
class CheckReport(Displayed):
    """The outcomes of a check, in the order of its rules.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> data = ps.LocalEngine(device="cpu").from_arrow(pa.table({"id": [1, 2, 2]}))
    >>> data.check(ps.rules.Unique("id", severity="warn"), ps.rules.RowCount(least=1))
    1 of 2 rules passed, 1 warned, 0 failed; 3 rows
    warned  Unique(['id']): 2 rows have values that occur more than once, the most frequent (2) 2 times, the first in \
<memory>, row 1, expected each value once
    passed  RowCount(least=1): there are 3 rows, expected at least 1 rows
    """

    outcomes: tuple[RuleOutcome, ...]
    rows: int
    _display = "penstock.report.notebook.checks:check_html"

    @property
    def passed(self) -> bool:
        """Whether no rule of severity error is broken."""
        return not self.failed

    @property
    def failed(self) -> tuple[RuleOutcome, ...]:
        """Broken rules of severity error."""
        return tuple(each for each in self.outcomes if each.status == "failed")

    @property
    def warned(self) -> tuple[RuleOutcome, ...]:
        """Broken rules of severity warn."""
        return tuple(each for each in self.outcomes if each.status == "warned")

    @property
    def quarantined(self) -> tuple[RuleOutcome, ...]:
        """Broken rules of severity quarantine."""
        return tuple(each for each in self.outcomes if each.status == "quarantined")

    @property
    def summary(self) -> str:
        """How many rules passed, in a line."""
        done = sum(each.passed for each in self.outcomes)
        counts = f"{done} of {len(self.outcomes)} rules passed, {len(self.warned)} warned, {len(self.failed)} failed"
        aside = f", {len(self.quarantined)} quarantined" if self.quarantined else ""
        return f"{counts}{aside}; {self.rows:,} rows"

    def __repr__(self) -> str:
        return "\n".join([self.summary, *(f"{each.status}  {each}" for each in self.outcomes)])

    def raise_if_failed(self) -> CheckReport:
        """Return the report, unless a rule of severity error is broken.

        Raises
        ------
        BrokenRulesError
            One is; all that are broken are told. Its place is the first row of the first of them, where there is one.
        """
        if self.passed:
            return self
        first = self.failed[0]
        raise BrokenRulesError(
            f"{len(self.failed)} of {len(self.outcomes)} rules are broken: {'; '.join(map(str, self.failed))}",
            hint='Repair the rows, or the rule; severity="warn" only reports it.',
            path=first.path,
            row=first.row,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, which JSON can hold: dates and decimals are texts."""
        told = [{**asdict(each), "columns": list(each.columns), "status": each.status} for each in self.outcomes]
        return {"passed": self.passed, "rows": self.rows, "outcomes": [_plain(each) for each in told]}

    def to_polars(self) -> pl.DataFrame:
        """Return a row for each rule; what was observed is text."""
        import polars as pl

        schema: dict[str, pl.DataType | type[pl.DataType]] = dict.fromkeys(_COLUMNS, pl.String)
        schema |= {"columns": pl.List(pl.String), "passed": pl.Boolean, "broken": pl.Int64, "row": pl.Int64}
        rows = [{**each, "observed": show(each["observed"])} for each in self.to_dict()["outcomes"]]
        return pl.DataFrame(rows, schema=schema)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, float) and (value != value or abs(value) == float("inf")):
        return str(value)
    return str(value) if isinstance(value, Decimal | datetime.timedelta | datetime.time) else value
