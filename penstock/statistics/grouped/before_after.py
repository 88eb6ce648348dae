"""Statistics of the rows up to a value of a column, and of those beyond it: what changed from then to now."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw

from penstock.statistics.base import State, Statistic
from penstock.statistics.grouped.base import union
from penstock.statistics.grouped.grouped_by import GroupedBy
from penstock.statistics.rules import ColumnRules, Rule, add_counts, refuse, valid_rows

UP_TO, BEYOND = "up_to", "beyond"


@dataclass(frozen=True)
class BeforeAfter(GroupedBy):
    """Statistics of the rows where a column is at most `at`, by the key ``"up_to"``, and of the others, ``"beyond"``.

    Parameters
    ----------
    by : str
        The column that parts the rows.
    at : int, float, str, date or datetime
        A value that its type can be compared with.

    Examples
    --------
    >>> from penstock import frames
    >>> from penstock.statistics import Counts
    >>> import pyarrow as pa
    >>> parted = BeforeAfter.of("year", 2023, [Counts(("x",))])
    >>> state = parted.summarise(frames.from_arrow(pa.table({"year": [2022, 2023, 2024], "x": [1, 2, None]})))
    >>> parted.finish(state)["up_to"]
    ({'x': Count(rows=2, nulls=0)},)
    """

    by: str
    at: Any

    @classmethod
    def of(cls, by: str, at: Any, statistics: Sequence[Statistic]) -> BeforeAfter:
        """Return the statistics of both parts."""
        return cls(union(statistics, by), tuple(statistics), by, at)

    @property
    def number(self) -> int:
        """Two."""
        return 2

    def sets(self, state: State) -> list[list[State]]:
        """Return the states of both parts."""
        return [state[UP_TO], state[BEYOND]]

    def of_sets(self, sets: list[list[State]], beside: State) -> State:
        """Return the state of both parts."""
        return {"invalid": beside["invalid"], **dict(zip((UP_TO, BEYOND), sets, strict=True))}

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Return the states of each part, of the rows that can be told apart, and how many break which rule."""
        rows, invalid = valid_rows(frame, self._checks)
        early = nw.col(self.by) <= self.at
        parts = {UP_TO: rows.filter(early), BEYOND: rows.filter(~early)}
        return {"invalid": invalid, **{key: self._summarised(part) for key, part in parts.items()}}

    def merge(self, states: Sequence[State]) -> State:
        """Merge part by part."""
        merged = {key: self._merged([state[key] for state in states]) for key in (UP_TO, BEYOND)}
        return {"invalid": add_counts([state["invalid"] for state in states]), **merged}

    def finish(self, state: State) -> Mapping[Hashable, tuple[Any, ...]]:
        """Return the results of each part.

        Raises
        ------
        DataValueError
            The column that parts the rows is null or infinite; names the column and the count, and its ``predicate`` is
            true for the bad rows.
        """
        refuse(self._checks, state["invalid"])
        return {key: self._finished(state[key]) for key in (UP_TO, BEYOND)}

    @property
    def _checks(self) -> ColumnRules:
        tests = ("null", "infinite") if isinstance(self.at, int | float) else ("null",)
        return [(self.by, Rule(test)) for test in tests]
