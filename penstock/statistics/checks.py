"""How many rows break each of several rules, and the error for the first that some do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw

from penstock.core.errors import DataValueError
from penstock.statistics.aggregates import aggregate
from penstock.statistics.base import State, Statistic
from penstock.statistics.rules import Rule


@dataclass(frozen=True)
class CheckCounts:
    """How many rows break each rule; ``rules`` are those of :class:`Checks`, ``counts`` in their order."""

    rules: tuple[tuple[str, Rule], ...]
    counts: tuple[int, ...]

    def refuse(self, error: Callable[[str, Rule, int], DataValueError | None] | None = None) -> None:
        """Raise DataValueError for the first of the rules that some rows break.

        Parameters
        ----------
        error : callable, optional
            Makes it, of column, rule and count, or None where they are to be borne; that of the rule unless given.
        """
        for (name, rule), count in zip(self.rules, self.counts, strict=True):
            problem = None if not count else rule.error(name, count) if error is None else error(name, rule, count)
            if problem is not None:
                raise problem


@dataclass(frozen=True)
class Checks(Statistic):
    """How many rows break each rule, as :class:`CheckCounts`.

    Parameters
    ----------
    rules : tuple of (str, Rule)
        Columns, each with a rule; a column may stand more than once.

    Examples
    --------
    >>> from penstock import frames
    >>> import pyarrow as pa
    >>> checks = Checks((("x", Rule("null")), ("x", Rule("negative"))))
    >>> state = checks.summarise(frames.from_arrow(pa.table({"x": [1.0, -1.0, -2.0]})))
    >>> checks.finish(state).counts
    (0, 2)
    """

    columns: tuple[str, ...] = field(init=False)
    rules: tuple[tuple[str, Rule], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(dict.fromkeys(name for name, _ in self.rules)))

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the rows of one partition."""
        broken = {place: rule.broken(name).fill_null(False).sum() for place, (name, rule) in enumerate(self.rules)}
        return [int(count) for count in aggregate(frame, broken).values()]

    def merge(self, states: Sequence[State]) -> State:
        """Add up the counts."""
        return [sum(counts) for counts in zip(*states, strict=True)]

    def finish(self, state: State) -> CheckCounts:
        """Return the counts with their rules."""
        return CheckCounts(self.rules, tuple(state))
