"""Columns of a linear regression chosen step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import pyarrow as pa

from penstock.core.errors import ConfigError, DataValueError
from penstock.core.schemas import require
from penstock.stages.base import Fitted, check_types
from penstock.stages.parameter_checks import in_range, one_of
from penstock.stages.preprocessing.selection._stepwise import CRITERIA, Stepwise
from penstock.stages.preprocessing.selection.feature_selector import FeatureSelector
from penstock.stages.shapes import Fields, ListOf, Maybe, Number, Shape, Text, by_column
from penstock.statistics import CrossProducts, Gram, Statistic
from penstock.statistics.sweep import Sweep


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
