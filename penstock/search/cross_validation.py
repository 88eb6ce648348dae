"""Cross-validation of one pipeline: metrics by fold, the models of the folds, and predictions out of fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from penstock.core.errors import ConfigError, class_name
from penstock.dataset.dataset import Dataset, check_dataset
from penstock.dataset.folds.folds import Fold, Folds
from penstock.pipeline.model import PipelineModel
from penstock.pipeline.pipeline import Pipeline
from penstock.search.cross_validator import CrossValidator
from penstock.search.out_of_fold import score_out_of_fold
from penstock.search.search_result import mean_of
from penstock.search.trials import run_trials
from penstock.search.validation import as_folds
from penstock.spmd import SpmdOptions
from penstock.stages.evaluation.base import Evaluator, Evaluators
from penstock.stages.evaluation.result import Evaluation
from penstock.stages.evaluation.shared_scan import as_evaluators


@dataclass(frozen=True)
class CrossValidation:
    """What `cross_validate` gives.

    Attributes
    ----------
    folds : Folds
    evaluations : sequence of Evaluation
        The metrics of each fold.
    models : sequence of PipelineModel
        Those fitted on each fold's training rows.
    """

    folds: Folds = field(repr=False)
    evaluations: Sequence[Evaluation]
    models: Sequence[PipelineModel] = field(repr=False)

    @property
    def predictions(self) -> Dataset:
        """The rows of the dataset in their order, each scored by the model that was not trained on it.

        Rows that no fold validates with, as the first of those in the order of time, are left out.

        Raises
        ------
        ConfigError
            The models of the folds do not give the same columns.
        """
        return score_out_of_fold(self.folds, [model.steps for model in self.models])

    @property
    def mean(self) -> dict[str, float | None]:
        """The mean of each metric over the folds; None where a fold has none."""
        names = self.evaluations[0]
        return {name: mean_of([each[name] for each in self.evaluations]) for name in names}

    @property
    def table(self) -> pa.Table:
        """A row for each fold: ``fold``, and every metric."""
        columns: dict[str, Any] = {"fold": pa.array(range(len(self.evaluations)), pa.int64())}
        for name in self.evaluations[0]:
            columns[name] = pa.array([each[name] for each in self.evaluations], pa.float64())
        return pa.table(columns)


def cross_validate(
    pipeline: Pipeline | CrossValidator,
    dataset: Dataset,
    evaluators: Evaluator | Evaluators,
    *,
    folds: int | Mapping[str, Any] | Folds = 5,
    options: SpmdOptions | None = None,
) -> CrossValidation:
    """Fit a pipeline on the training rows of each fold, and evaluate it on the others.

    All folds are fitted side by side: the statistics of all of them are gathered in one scan for each level.

    Parameters
    ----------
    pipeline : Pipeline, or CrossValidator
        A search is run on the training rows of each fold, and what it finds is evaluated on the others: nested
        cross-validation, an estimate that the choice of parameters has not seen.
    dataset : Dataset
    evaluators : Evaluator, sequence of Evaluator, or mapping of str to Evaluator
    folds : int, mapping or Folds, default 5
        As of `CrossValidator`.
    options : SpmdOptions, optional
        Of the trainings.

    Raises
    ------
    SchemaError, ConfigError, DataValueError
        As of `Pipeline.fit`, on any fold.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> data = ps.LocalEngine().from_arrow(pa.table({"x": range(60), "y": [2.0 * i + i % 3 for i in range(60)]}))
    >>> evaluator = st.RegressionEvaluator(label="y", metrics="rmse")
    >>> found = cross_validate(ps.Pipeline(st.LinearRegression("y")), data, evaluator, folds=3)
    >>> round(found.mean["rmse"], 3), found.predictions.count(), len(found.models)
    (0.861, 60, 3)
    """
    check_dataset(dataset, "cross_validate")
    measures, of_rows = as_evaluators(evaluators), as_folds(dataset, folds)
    if isinstance(pipeline, CrossValidator):
        return _nested(pipeline, of_rows, measures)
    if not isinstance(pipeline, Pipeline):
        raise ConfigError(f"cross_validate takes a Pipeline or a CrossValidator, found {class_name(pipeline)}")
    pipeline.plan(dataset)
    scores = run_trials({0: pipeline}, of_rows, measures, options)[0]
    if scores.error is not None:
        raise scores.error
    return CrossValidation(of_rows, scores.evaluations, scores.models)


def _nested(search: CrossValidator, folds: Folds, evaluators: Evaluators) -> CrossValidation:
    models = [_best(search, fold) for fold in folds]
    given = [evaluators] if isinstance(evaluators, Mapping) else evaluators
    evaluated = [model.evaluate(fold.validation, *given) for model, fold in zip(models, folds, strict=True)]
    return CrossValidation(folds, evaluated, models)


def _best(search: CrossValidator, fold: Fold) -> PipelineModel:
    model = search.fit(fold.train).best_model
    if model is None:
        raise ConfigError("the search has refit=False, and its best model is what is evaluated here")
    return model
