"""A stage after a pipeline that learns from what models predict for rows which they have not seen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.core.errors import ConfigError, class_name
from penstock.dataset.dataset import Dataset, check_dataset
from penstock.dataset.folds.folds import Folds
from penstock.pipeline.model import PipelineModel
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.plan import plan
from penstock.pipeline.reuse import held_meanwhile
from penstock.search.classifier_columns import ClassifierColumns
from penstock.search.out_of_fold import score_out_of_fold
from penstock.search.trials import refit, run_trials
from penstock.search.validation import as_folds
from penstock.spmd import SpmdOptions
from penstock.stages.base import Stage


class OutOfFoldStage(ABC):
    """Fits a pipeline with a classifier, and after it a stage that learns from predictions out of fold.

    Parameters
    ----------
    pipeline : Pipeline or OutOfFoldStage
    folds : int, mapping or Folds
    options : SpmdOptions, optional
    """

    def __init__(
        self,
        pipeline: Pipeline | OutOfFoldStage,
        folds: int | Mapping[str, Any] | Folds,
        options: SpmdOptions | None,
    ) -> None:
        if not isinstance(pipeline, Pipeline | OutOfFoldStage):
            raise ConfigError(f"{type(self).__name__} takes a Pipeline, found {class_name(pipeline)}")
        self.pipeline, self.folds, self.options = pipeline, folds, options

    @abstractmethod
    def stage(self, columns: ClassifierColumns) -> Stage:
        """Return the stage to fit after the classifier."""

    def fit(self, dataset: Dataset) -> PipelineModel:
        """Learn from `dataset`: the pipeline on each fold, the stage after it, and the pipeline on all rows.

        Returns
        -------
        PipelineModel
            The pipeline fitted to all rows, and the stage.

        Raises
        ------
        SchemaError, ConfigError
            Before anything is read: there is no classifier, or a stage does not fit the columns.
        DataValueError
            As of `Pipeline.fit`, and of the stage; a class is missing on some fold.
        """
        check_dataset(dataset, "fit")
        stage, columns = self._stage_after(dataset)
        folds = as_folds(dataset, self.folds)
        with held_meanwhile(dataset) as held:
            of_held = replace(folds, dataset=held)
            models, model = self._models(held, of_held)
            columns.check_classes(models)
            predictions = score_out_of_fold(of_held, [each.steps for each in models])
            return _followed(model, Pipeline(stage).fit(predictions))

    def _stage_after(self, dataset: Dataset) -> tuple[Stage, ClassifierColumns]:
        """Return the stage, and the columns of the classifier before it, checked against those of a dataset."""
        stages = self._stages(dataset)
        columns = ClassifierColumns.of(plan(stages, dataset.schema).stages, type(self).__name__)
        stage = self.stage(columns)
        plan([*stages, stage], dataset.schema)
        return stage, columns

    def _stages(self, dataset: Dataset) -> Sequence[Stage]:
        """Return the stages before."""
        if isinstance(self.pipeline, Pipeline):
            return self.pipeline.stages
        return [*self.pipeline._stages(dataset), self.pipeline._stage_after(dataset)[0]]

    def _models(self, dataset: Dataset, folds: Folds) -> tuple[Sequence[PipelineModel], PipelineModel]:
        """Return the models of the folds, and that of all rows."""
        if not isinstance(self.pipeline, Pipeline):
            return [self.pipeline.fit(fold.train) for fold in folds], self.pipeline.fit(dataset)
        scores = run_trials({0: self.pipeline}, folds, (), self.options, refit=True)[0]
        if scores.error is not None:
            raise scores.error
        return scores.models, refit(self.pipeline, scores.watchers, dataset, self.options)


def _followed(model: PipelineModel, after: PipelineModel) -> PipelineModel:
    """Return the model of the stages of both, with what the reports of both note."""
    report = model.report
    if report is not None and after.report is not None:
        report = replace(report, notes=[*report.notes, *after.report.notes])
    return replace(
        model,
        stages=(*model.stages, *after.stages),
        fitted=(*model.fitted, *after.fitted),
        given_names=(*model.given_names, *after.given_names),
        report=report,
    )
