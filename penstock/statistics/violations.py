"""How many values break a rule, and where the first one is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa

from penstock import frames
from penstock.frames import ROW
from penstock.statistics.aggregates import aggregate
from penstock.statistics.base import ColumnStatistic, State
from penstock.statistics.rules import Rule


@dataclass(frozen=True)
class Violation:
    """How many rows of a column break a rule.

    ``first`` is the number in the dataset of the first such row; None when there is none, or rows have no numbers.

    Examples
    --------
    >>> Violation(count=2, first=17).first
    17
    """

    count: int
    first: int | None


@dataclass(frozen=True)
class Violations(ColumnStatistic):
    """The :class:`Violation` of each column; ``test`` and ``values`` are those of :class:`Rule`.

    The first row is known when the frame has the column ``__row__``.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> frame = frames.from_arrow(pa.table({"x": [1, -2, -3], "__row__": [10, 11, 12]}))
    >>> violations = Violations(("x",), "negative")
    >>> violations.finish(violations.summarise(frame))
    {'x': Violation(count=2, first=11)}
    """

    merges_slices = True

    test: str
    values: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        _ = self._rule  # an unknown test is refused when the statistic is named, not when it runs

    @property
    def _rule(self) -> Rule:
        return Rule(self.test, self.values)

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the violations of one partition and find the smallest row number among them."""
        broken = {name: self._rule.broken(name) for name in self.columns}
        wanted = {(name, "count"): rule.sum() for name, rule in broken.items()}
        if ROW in frame.columns:
            wanted |= {(name, "first"): nw.when(rule).then(nw.col(ROW)).min() for name, rule in broken.items()}
        found = aggregate(frame, wanted)
        return {name: {"count": found[name, "count"], "first": found.get((name, "first"))} for name in self.columns}

    def merge_column(self, states: Sequence[State]) -> State:
        """Add up the counts and keep the smallest row number."""
        rows = [state["first"] for state in states if state["first"] is not None]
        return {"count": sum(state["count"] for state in states), "first": min(rows, default=None)}

    def fill_column(self, state: State, value: Any, count: int) -> State:
        """Count a value that breaks the rule so often; which row is the first with it is not known."""
        row = frames.from_arrow(pa.table({"value": [value]}))
        broken = int(aggregate(row, {"value": self._rule.broken("value").sum()})["value"])
        return {**state, "count": state["count"] + broken * count}

    def finish_column(self, name: str, state: State) -> Violation:
        """Return the violations of one column."""
        return Violation(**state)
