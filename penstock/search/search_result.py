"""What a search gives: every trial with its metrics by fold, the best of them, and the model refitted with it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.core.displayed import Displayed
from penstock.core.redaction import presentable
from penstock.frames.pandas import to_pandas
from penstock.pipeline.model import PipelineModel
from penstock.search.descriptions import label
from penstock.search.study import Outcome, Trial

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SearchResult(Displayed):
    """The trials of a search, in the order of their numbers.

    Attributes
    ----------
    trials : sequence of Trial
    outcomes : mapping of int to Outcome
        By number; `metrics` of each are by fold.
    metric : str
        The leading one, by which trials are compared.
    larger_better : mapping of str to bool
        Of each metric, whether larger values are better.
    best_trial : Trial
        The first of those with the best value.
    best_model : PipelineModel or None
        Of the best parameters, refitted on all rows; None with ``refit=False``.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": range(60), "y": [2.0 * i + i % 3 for i in range(60)]}))
    >>> pipeline = ps.Pipeline(("scale", st.StandardScaler("x")), ("model", st.LinearRegression("y")))
    >>> space = ps.grid({"model.reg_param": [0.0, 10.0]})
    >>> evaluator = st.RegressionEvaluator(label="y", metrics="rmse")
    >>> result = ps.CrossValidator(pipeline, space, evaluator, folds=3).fit(data)
    >>> result.best_params, result.table.column_names[:5]
    ({'model.reg_param': 0.0}, ['trial', 'state', 'param_model.reg_param', 'rank_test_rmse', 'mean_test_rmse'])
    """

    trials: Sequence[Trial] = field(repr=False)
    outcomes: Mapping[int, Outcome] = field(repr=False)
    metric: str
    larger_better: Mapping[str, bool] = field(repr=False)
    best_trial: Trial = field(repr=False)
    best_model: PipelineModel | None = field(repr=False, default=None)
    _display = "penstock.search.notebook:search_html"

    @property
    def best_params(self) -> dict[str, Any]:
        """The parameters of the best trial, as `Pipeline.with_params` takes them."""
        return dict(self.best_trial.params)

    @property
    def best_score(self) -> float:
        """The mean of the leading metric over the folds, of the best trial."""
        value = self.outcomes[self.best_trial.number].value
        assert value is not None
        return value

    @property
    def avg_metrics(self) -> list[float | None]:
        """The mean of the leading metric over the folds, of each trial in order; None where there is none."""
        return [None if each is None else each.value for each in map(self.outcomes.get, self._numbers)]

    @property
    def _numbers(self) -> list[int]:
        return [trial.number for trial in self.trials]

    @property
    def table(self) -> pa.Table:
        """A row for each trial.

        ``trial``, ``state``, ``param_<address>`` for each parameter (numbers where all values are, else text; null
        where a trial does not have it); for each metric ``rank_test_<metric>`` (1 is best, equal ones share the better
        rank), ``mean_test_<metric>``, ``std_test_<metric>`` and ``split<fold>_test_<metric>``; ``train_seconds``, of
        trainings that are its own alone; and ``reason``, why there is no value.
        """
        outcomes = [self.outcomes.get(number, Outcome("failed", reason="not run")) for number in self._numbers]
        columns: dict[str, Any] = {
            "trial": pa.array(self._numbers, pa.int64()),
            "state": pa.array([outcome.state for outcome in outcomes], pa.string()),
        }
        columns |= _parameters(self.trials)
        for metric in dict.fromkeys(name for outcome in outcomes for fold in outcome.metrics for name in fold):
            columns |= _scores(metric, outcomes, self.larger_better[metric])
        columns["train_seconds"] = pa.array([outcome.seconds for outcome in outcomes], pa.float64())
        columns["reason"] = pa.array([outcome.reason for outcome in outcomes], pa.string())
        return pa.table(columns)

    def to_pandas(self) -> pd.DataFrame:
        """Return `table` as a pandas frame."""
        return to_pandas(self.table)

    def report(
        self, path: str | os.PathLike[str], *, title: str = "Search", details: Mapping[str, Any] | None = None
    ) -> Path | str:
        """Write a page of the search: one HTML file that needs no network; a page that is there is replaced.

        Trials over time, parallel coordinates, the importance of parameters by Optuna's functional ANOVA (left out
        where Optuna or scikit-learn is not installed), the metric by parameter and by fold, and every trial, those that
        failed with their reasons.

        Parameters
        ----------
        path : str or PathLike
            A local path; folders that are missing are made.
        title : str, default "Search"
        details : mapping of str to any, optional
            What stands under the title, such as the data.

        Raises
        ------
        OutputError, DiskFullError, CommitConflictError
            The page cannot be written; what was there before still is.
        """
        from penstock.report.page import write_page
        from penstock.search.page import render_search

        return write_page(render_search(self, title=title, details=details), path)

    def __str__(self) -> str:
        """Return the best parameters and their score, a line each."""
        lines = [f"best of {len(self.trials)} trials: {self.metric} {self.best_score:.6g}"]
        lines += [f"  {address} = {label(value)}" for address, value in self.best_params.items()]
        failed = sum(outcome.state == "failed" for outcome in self.outcomes.values())
        return presentable("\n".join([*lines, *([f"  {failed} failed"] if failed else [])]), keep="\n")


def _parameters(trials: Sequence[Trial]) -> dict[str, pa.Array]:
    """Return a column for each parameter, of numbers where all its values are."""
    described = [trial.describe() for trial in trials]
    addresses = dict.fromkeys(address for each in described for address in each)
    return {f"param_{address}": _column([each.get(address) for each in described]) for address in addresses}


def _column(values: Sequence[Any]) -> pa.Array:
    present = [value for value in values if value is not None]
    if all(isinstance(value, bool) for value in present):
        return pa.array(values, pa.bool_())
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return pa.array(values, pa.int64() if all(isinstance(value, int) for value in present) else pa.float64())
    return pa.array([value if value is None or isinstance(value, str) else label(value) for value in values])


def _scores(metric: str, outcomes: Sequence[Outcome], larger_better: bool) -> dict[str, pa.Array]:
    by_fold = [[fold.get(metric) for fold in outcome.metrics] for outcome in outcomes]
    means = [
        mean_of(values) if outcome.state == "complete" else None
        for outcome, values in zip(outcomes, by_fold, strict=True)
    ]
    spreads = [
        None if mean is None else pstdev([value for value in values if value is not None])
        for mean, values in zip(means, by_fold, strict=True)
    ]
    folds = max(map(len, by_fold), default=0)
    columns = {
        f"rank_test_{metric}": pa.array(_ranks(means, larger_better), pa.int64()),
        f"mean_test_{metric}": pa.array(means, pa.float64()),
        f"std_test_{metric}": pa.array(spreads, pa.float64()),
    }
    splits = ([values[fold] if fold < len(values) else None for values in by_fold] for fold in range(folds))
    return columns | {
        f"split{fold}_test_{metric}": pa.array(values, pa.float64()) for fold, values in enumerate(splits)
    }


def mean_of(values: Sequence[float | None]) -> float | None:
    """Return the mean of a metric over folds; None where one of them has none.

    Examples
    --------
    >>> mean_of([0.5, 0.7]), mean_of([0.5, None]), mean_of([])
    (0.6, None, None)
    """
    defined = [value for value in values if value is not None]
    return fmean(defined) if values and len(defined) == len(values) and all(map(math.isfinite, defined)) else None


def _ranks(means: Sequence[float | None], larger_better: bool) -> list[int | None]:
    """Return the rank of each, from 1; equal ones have the better rank of theirs."""
    order = sorted((mean for mean in means if mean is not None), reverse=larger_better)
    return [None if mean is None else order.index(mean) + 1 for mean in means]
