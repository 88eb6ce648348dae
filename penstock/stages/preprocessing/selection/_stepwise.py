"""The steps of a stepwise regression, on swept correlations of which the last column is the label."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import fdtrc

from penstock.statistics.gram import CrossProducts
from penstock.statistics.sweep import Sweep

CRITERIA = ("aic", "bic", "p_value")
_PERFECT = 1e-15
"""The share of the label's variance that counts as nothing left: rounding."""


@dataclass(eq=False)
class Stepwise:
    """Which columns are in a regression, and what adding or taking out one would make of its criterion.

    Parameters
    ----------
    sweep : Sweep
    gram : CrossProducts
        Of the columns and, last, the label.
    criterion : {"aic", "bic", "p_value"}
    p_enter, p_remove : float
    """

    sweep: Sweep
    gram: CrossProducts
    criterion: str
    p_enter: float
    p_remove: float

    @property
    def selected(self) -> set[int]:
        """The places of the columns that are in."""
        return self.sweep.swept

    @property
    def _label(self) -> int:
        return len(self.gram.columns) - 1

    def run(self, direction: str) -> None:
        """Take steps until none makes the criterion better."""
        if direction == "backward":
            self.sweep.add_all(range(self._label))
            self._fit_in()
        while (direction != "backward" and self._step_in()) or (direction != "forward" and self._step_out()):
            pass

    def _fit_in(self) -> None:
        """Take out the last columns where there are too few rows for all."""
        for place in sorted(self.selected, reverse=True)[: max(len(self.selected) - self.gram.count + 2, 0)]:
            self.sweep.remove(place)

    def _step_in(self) -> bool:
        """Add the column that makes the criterion best, and return whether there is one."""
        scores = {place: self.score_of(place) for place in range(self._label) if place not in self.selected}
        return self._step({place: score for place, score in scores.items() if score is not None}, entering=True)

    def _step_out(self) -> bool:
        """Take out the column without which the criterion is best, and return whether there is one."""
        scores = {place: self.score_of(place) for place in sorted(self.selected, reverse=True)}
        return self._step({place: score for place, score in scores.items() if score is not None}, entering=False)

    def _step(self, scores: dict[int, float], *, entering: bool) -> bool:
        if not scores:
            return False
        smallest = self.criterion != "p_value" or entering
        best = (min if smallest else max)(scores, key=scores.__getitem__)
        if not self._is_better(scores[best], entering=entering):
            return False
        (self.sweep.add if entering else self.sweep.remove)(best)
        return True

    def _is_better(self, score: float, *, entering: bool) -> bool:
        now = self.score()
        if now is not None:
            return score < now
        return score < self.p_enter if entering else score > self.p_remove

    def score(self) -> float | None:
        """Return the criterion as it is; None of p-values, which are those of a column."""
        return self._information(self.sweep.unexplained(self._label), len(self.selected))

    def score_of(self, place: int) -> float | None:
        """Return what the criterion would be with a column, or without one that is in; its p-value, by criterion.

        None where it cannot be added: it is explained, or there are too few rows.
        """
        inside = place in self.selected
        freedom = self.gram.count - len(self.selected) - (1 if inside else 2)
        if not inside and (freedom < 1 or self.sweep.is_explained(place)):
            return None
        change, left = self.sweep.change(place, self._label), self.sweep.unexplained(self._label)
        if self.criterion == "p_value":
            rest = max(left if inside else left - change, _PERFECT)
            return float(fdtrc(1, freedom, change / rest * freedom)) if freedom > 0 else 1.0
        if inside:
            return self._information(left + change, len(self.selected) - 1)
        return self._information(left - change, len(self.selected) + 1)

    def _information(self, unexplained: float, columns: int) -> float | None:
        """Return AIC or BIC of a regression on so many columns."""
        if self.criterion == "p_value":
            return None
        rows = self.gram.count
        square = max(unexplained, _PERFECT) * float(self.gram.cross[-1, -1])
        price = 2.0 if self.criterion == "aic" else math.log(rows)
        return rows * math.log(square / rows) + price * (columns + 1)
