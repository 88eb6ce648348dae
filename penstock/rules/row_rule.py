"""Rules that single rows keep or break."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import narwhals as nw
import pyarrow as pa

from penstock.core.errors import ConfigError
from penstock.frames import ROW
from penstock.rules.base import DatasetRule, RuleVerdict
from penstock.rules.broken_rows import BrokenRowCount, BrokenRows
from penstock.statistics.base import Statistic

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True)
class RowRule(DatasetRule):
    """A rule of which single rows can be told that break it: they are counted, and the first is named."""

    names_rows: ClassVar[bool] = True

    def refuse_allowance(self, name: str) -> None:
        """Raise ConfigError where rows are to be set aside, and some of them are allowed; `name` says by what."""
        if self.severity == "quarantine" and (allowed := getattr(self, name)):
            problem = f"{type(self).__name__} has {name}={allowed!r}, and severity 'quarantine' sets every row aside"
            raise ConfigError(problem, hint=f"Leave {name} out.")

    @abstractmethod
    def broken_by(self) -> nw.Expr:
        """Return the expression that is true for a row that breaks the rule; false or null for the others."""

    def rows_to_set_aside(self, dataset: Dataset) -> nw.Expr:
        """Return `broken_by`."""
        return self.broken_by()

    def statistics(self, dataset: Dataset) -> dict[str, Statistic]:
        """Return the count of rows that break it."""
        schema = pa.schema([dataset.schema.field(name) for name in self.reads])
        if not any(step.makes_rows for step in dataset.steps):
            schema = schema.append(pa.field(ROW, pa.int64()))
        return {"broken": BrokenRows(self.reads, self, schema)}

    def judge(self, results: Mapping[str, Any]) -> RuleVerdict:
        """Pass where no more rows break the rule than may."""
        found: BrokenRowCount = results["broken"]
        passed, observed = self.allows(found), self.observed(results)
        return RuleVerdict(passed, observed, self.told(found, observed), found.broken, found.first, found.row)

    def allows(self, found: BrokenRowCount) -> bool:
        """Return whether so many rows may break the rule."""
        return not found.broken

    def observed(self, results: Mapping[str, Any]) -> Any:
        """Return what is reported as observed: the number of rows that break the rule."""
        return results["broken"].broken

    def told(self, found: BrokenRowCount, observed: Any) -> str:
        """Return what was found, in words."""
        return f"{found.broken:,} of {found.rows:,} rows {'breaks' if found.broken == 1 else 'break'} the rule"
