"""Columns of a linear regression chosen step by step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import pyarrow as pa
from scipy.special import fdtrc

from penstock.core.errors import ConfigError, DataValueError
from penstock.core.schemas import require
from penstock.stages.base import Fitted, check_types
from penstock.stages.parameter_checks import in_range, one_of
from penstock.stages.preprocessing.selection.feature_selector import FeatureSelector
from penstock.stages.shapes import Fields, ListOf, Maybe, Number, Shape, Text, by_column
from penstock.statistics import CrossProducts, Gram, Statistic
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


@dataclass(frozen=True)
class StepwiseSelector(FeatureSelector):
    """Keeps the columns of a linear regression of a label that are worth their place, chosen one at a time.

    Each step adds the column, or takes out the one, that makes the criterion best, as long as it gets better: R's
    ``step``. All steps come from one scan: a regression on other columns is one sweep of the matrix of correlations.

    Parameters
    ----------
    columns : str, sequence of str, or Selector
        Columns of numbers or booleans (0 and 1) to choose from, at most 4,999.
    label : str, default="label"
        A column of numbers or booleans. It is read at fit alone.
    direction : {"both", "forward", "backward"}, default="both"
        Begin without columns, and add; the same, and take out again what others have made worthless; or begin with all
        columns, and take out.
    criterion : {"aic", "bic", "p_value"}, default="aic"
        ``n log(rss / n) + 2 p`` of p coefficients, the intercept among them, to be as small as can be; ``log(n)`` in
        place of 2; or the p-value of the F test of a column given the others.
    p_enter, p_remove : float, default=0.05, 0.1
        Of "p_value": a column is added below the first, and taken out above the second.
    weight : str, optional
        Column of row weights, not negative, without null.

    Raises
    ------
    ConfigError
        A parameter is wrong, `p_remove` is below `p_enter`, or the label or weight is among the columns.
    SchemaError
        At fit, before reading: a column is missing or not numeric; or a later stage names one that was left out.
    DataValueError
        At fit: a value is null, infinite or beyond 1e150, or a weight negative; column, count, file and row are named.
        The label is constant, or there are no rows.

    Notes
    -----
    Constant columns, and those that others explain up to 1e-12 of their variance, are never added; where all begin in,
    the later of them is left out. Of equal ones the first is added, and the last taken out. Each column adds a degree
    of freedom: columns are added while two are left.

    p-values of columns that were chosen by the same rows are too small, and so are the errors of a model trained on
    them: evaluate on other rows.

    Learned are ``selected`` (in the order of the columns), ``score`` (of "aic" and "bic", that of the model selected;
    else None), and ``scores`` by column: what the criterion would be with one that was left out, or without one that
    was selected; the p-value of the F test where that decides. It is None for columns that are never added.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> table = pa.table({"x": [1.0, 2, 3, 4, 5], "z": [1, 0, 0, 0, 1], "y": [1.1, 1.9, 3.0, 4.2, 4.9]})
    >>> data = ps.LocalEngine().from_arrow(table)
    >>> model = ps.Pipeline(st.StepwiseSelector(["x", "z"], "y"), st.LinearRegression("y")).fit(data)
    >>> model.stages[0].left_out(model.fitted[0])
    {'z': 'the AIC would be -15.663 with it, and is -17.5625 without'}
    """

    label: str = "label"
    _: KW_ONLY
    direction: str = field(default="both", metadata=one_of("both", "forward", "backward"))
    criterion: str = field(default="aic", metadata=one_of(*CRITERIA))
    p_enter: float = field(default=0.05, metadata=in_range(above=0, most=1))
    p_remove: float = field(default=0.1, metadata=in_range(above=0, most=1))
    weight: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p_remove < self.p_enter:
            problem = f"p_remove of {self.title} is {self.p_remove}, and p_enter is {self.p_enter}"
            hint = "What has just been added must not be taken out: p_remove is at least p_enter."
            raise ConfigError(problem, hint=hint, stage=self.title)

    def bind(self, schema: pa.Schema) -> Self:
        """Resolve the columns, and check them, the label and the weight."""
        aside = {"label": self.label, **({} if self.weight is None else {"weight": self.weight})}
        require(schema, tuple(aside.values()), stage=self.title)
        bound = super().bind(schema)
        check_types(self, schema, tuple(aside.values()))
        for role, name in aside.items():
            if name in bound.doubtful():
                raise ConfigError(f"{role} {name!r} is among the columns", column=name, stage=self.title)
        return bound

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the products of all columns, and of the label, with each other."""
        weights = () if self.weight is None else (self.weight,)
        return {"gram": Gram((*self.doubtful(), self.label, *weights), weighted=bool(weights))}

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``selected``, ``score`` and ``scores``."""
        gram: CrossProducts = results["gram"]
        if gram.constant[-1]:
            raise DataValueError(
                f"label {self.label!r} is constant, or there are no rows: there is nothing to explain",
                hint="Check that the label is the one that was meant.",
                column=self.label,
            )
        steps = Stepwise(Sweep(gram), gram, self.criterion, self.p_enter, self.p_remove)
        steps.run(self.direction)
        names = self.doubtful()
        return {
            "selected": [names[place] for place in sorted(steps.selected)],
            "score": steps.score(),
            "scores": {name: steps.score_of(place) for place, name in enumerate(names)},
        }

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        names, score = self.doubtful(), Maybe(Number())
        return Fields({"selected": ListOf(Text(names)), "score": score, "scores": by_column(names, score)})

    def left_out(self, fitted: Fitted) -> Mapping[str, str]:
        """Return the columns that were not selected."""
        gone = [name for name in self.doubtful() if name not in fitted["selected"]]
        return {name: self._reason(fitted["scores"][name], fitted["score"]) for name in gone}

    def _reason(self, score: float | None, without: float | None) -> str:
        if score is None:
            return "it is constant, or others explain it"
        if without is None:
            return f"the p-value of its F test is {score:.3g}, not below {self.p_enter!r}"
        return f"the {self.criterion.upper()} would be {score:.6g} with it, and is {without:.6g} without"
