"""How many rows break each of several rules, and the error for the first that some do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw

from penstock.statistics.base import State, Statistic
from penstock.statistics.rules import Rule, RuleError, count_broken, refuse, rule_error


@dataclass(frozen=True)
class CheckCounts:
    """How many rows break each rule; ``rules`` are those of :class:`Checks`, ``counts`` in their order."""

    rules: tuple[tuple[str, Rule], ...]
    counts: tuple[int, ...]

    def refuse(self, error: RuleError = rule_error) -> None:
        """Raise DataValueError for the first of the rules that some rows break, made by `error`, as `rules.refuse`."""
        refuse(self.rules, self.counts, error)


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

    merges_slices = True

    columns: tuple[str, ...] = field(init=False)
    rules: tuple[tuple[str, Rule], ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(dict.fromkeys(name for name, _ in self.rules)))

    def summarise(self, frame: nw.DataFrame[Any]) -> State:
        """Count the rows of one partition."""
        return count_broken(frame, self.rules)

    def merge(self, states: Sequence[State]) -> State:
        """Add up the counts."""
        return [sum(counts) for counts in zip(*states, strict=True)]

    def finish(self, state: State) -> CheckCounts:
        """Return the counts with their rules."""
        return CheckCounts(self.rules, tuple(state))
