"""The trials of a search as figures take them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import Any

from penstock.report.scales import is_drawable, nice_domain
from penstock.report.text import show_label, show_number

_REACH = 6.0
"""Values worse than the best by so many times what the median is are drawn at the edge."""


@dataclass(frozen=True)
class TrialRow:
    """One trial.

    Attributes
    ----------
    number : int
    params : mapping of str to value
        Plain values by address.
    state : str
        ``complete``, ``failed`` or ``pruned``.
    value : float, optional
        The leading metric over the folds.
    folds : sequence of float or None
        The same by fold.
    reason : str, optional
        Why there is no value.
    seconds : float
    competes : bool
        Whether it may be the best; a trial on fewer rows than others may not.
    """

    number: int
    params: Mapping[str, Any]
    state: str
    value: float | None = None
    folds: Sequence[float | None] = ()
    reason: str | None = None
    seconds: float = 0.0
    competes: bool = True


@dataclass(frozen=True)
class TrialRows:
    """The trials of a search, what they are compared by, and how much each parameter matters, where that is known."""

    metric: str
    larger_better: bool
    rows: Sequence[TrialRow]
    importances: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def metric_name(self) -> str:
        """The metric as it is shown."""
        return show_label(self.metric)

    @cached_property
    def valued(self) -> list[TrialRow]:
        """Those with a value that can be drawn."""
        return [row for row in self.rows if row.value is not None and is_drawable(row.value)]

    @cached_property
    def ranked(self) -> list[TrialRow]:
        """Those that compete, best first, equal ones by number."""
        sign = -1 if self.larger_better else 1
        return sorted((row for row in self.valued if row.competes), key=lambda row: sign * value_of(row))

    @cached_property
    def names(self) -> dict[str, str]:
        """What parameters are called, by address: the last part alone where no other parameter has the same."""
        addresses = list(dict.fromkeys(address for row in self.rows for address in row.params))
        last = Counter(address.rpartition(".")[2] for address in addresses)
        short = {each: each.rpartition(".")[2] for each in addresses}
        return {each: show_label(each if last[name] > 1 else name, 40) for each, name in short.items()}

    @cached_property
    def searched(self) -> list[str]:
        """Addresses with several values, those that matter most first."""
        several = [each for each in self.names if len({show_label(row.params.get(each)) for row in self.rows}) > 1]
        return sorted(several, key=lambda each: -self.importances.get(each, 0.0))

    @cached_property
    def domain(self) -> tuple[float, float]:
        """The range of values to draw: of all, but for those far worse than the usual."""
        values = [value_of(row) for row in self.valued]
        if len(values) < 5:
            return nice_domain(values)
        best = max(values) if self.larger_better else min(values)
        reach = _REACH * abs(best - median(values))
        near = [value for value in values if abs(best - value) <= reach]
        return nice_domain(near or values)

    def clip(self, value: float) -> float:
        """Return a value, or the edge that it lies beyond."""
        return min(max(value, self.domain[0]), self.domain[1])

    @property
    def beyond(self) -> int:
        """How many values are drawn at the edge, as they lie beyond it."""
        return sum(self.clip(value_of(row)) != row.value for row in self.valued)

    def tell(self, row: TrialRow) -> str:
        """Return what a figure says of a trial when it is pointed at."""
        shown = ", ".join(f"{self.names[each]} {show_label(value, 16)}" for each, value in row.params.items())
        return f"trial {row.number}: {self.metric_name} {show_number(row.value)}; {shown}"

    @property
    def edge_note(self) -> str:
        """A sentence about values beyond the edge; none where there are none."""
        return f" {self.beyond:,} far worse stand at the edge." if self.beyond else ""


def value_of(row: TrialRow) -> float:
    """Return the value of a trial that has one."""
    assert row.value is not None
    return row.value
