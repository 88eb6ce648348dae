"""Rules of single rows: number of broken rows, and the first of them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.core.errors import ConfigError
from penstock.frames import ROW
from penstock.frames.on_host import on_host
from penstock.rules.base import DatasetRule, RuleVerdict
from penstock.statistics.base import State, Statistic, merge_fields

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


@dataclass(frozen=True)
class BrokenRowCount:
    """How many rows there are, how many break a rule, and of the first of these the values and the number.

    ``row`` is its number in the dataset; None where there is none, or rows have no numbers.
    """

    rows: int
    broken: int
    first: dict[str, Any] | None
    row: int | None

    @property
    def share(self) -> float:
        """The share of rows that break the rule; 0 of no rows."""
        return self.broken / max(self.rows, 1)


@dataclass(frozen=True)
class BrokenRows(Statistic):
    """The :class:`BrokenRowCount` of a rule about single rows. A row of which the rule is open, for a null, keeps it.

    Parameters
    ----------
    rule : RowRule
    schema : pyarrow.Schema
        What is read, in the types that the first row is told in: the columns of the rule, and row numbers if any.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from penstock.rules import InSet
    >>> table = pa.table({"c": ["a", None, "x", "y"]})
    >>> broken = BrokenRows(("c",), InSet("c", ["a", "b"]), table.schema)
    >>> broken.finish(broken.summarise(frames.from_arrow(table)))
    BrokenRowCount(rows=4, broken=2, first={'c': 'x'}, row=None)
    """

    rule: RowRule
    schema: pa.Schema

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of the rule, and the row numbers."""
        return tuple(self.schema.names)

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the rows of one partition, and keep the first that breaks the rule."""
        bad = on_host(frame.select(self.schema.names), self.schema).filter(self.rule.broken_by().fill_null(False))
        return {"rows": len(frame), "broken": len(bad), "first": frames.to_arrow(bad.head(1), self.schema)}

    def merge(self, states: Sequence[State]) -> State:
        """Add up, and keep the first row, by its number if rows have one."""
        firsts = [state["first"] for state in states]
        there = [each for each in firsts if len(each)]
        if ROW in self.schema.names:
            there.sort(key=lambda each: each[ROW][0].as_py())
        first = (there or firsts)[0]
        return {**merge_fields(states, rows=sum, broken=sum), "first": first}

    def finish(self, state: State) -> BrokenRowCount:
        """Return the counts."""
        first = next(iter(state["first"].to_pylist()), None)
        row = None if first is None else first.pop(ROW, None)
        return BrokenRowCount(state["rows"], state["broken"], first, row)


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
