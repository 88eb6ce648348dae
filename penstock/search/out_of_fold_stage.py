"""A stage after a pipeline that learns from what models predict for rows which they have not seen."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from penstock.core.errors import ConfigError, DataValueError, class_name
from penstock.dataset.dataset import Dataset, check_dataset
from penstock.dataset.folds.folds import Folds
from penstock.pipeline.model import PipelineModel
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.plan import plan
from penstock.pipeline.reuse import held_meanwhile
from penstock.search.out_of_fold import score_out_of_fold
from penstock.search.trials import refit, run_trials
from penstock.search.validation import as_folds
from penstock.spmd import SpmdOptions
from penstock.stages.base import Stage
from penstock.stages.classes import classes_of


@dataclass(frozen=True)
class ClassifierColumns:
    """The last stage of a pipeline that gives scores of the classes of a label.

    Attributes
    ----------
    position : int
        Of the stage.
    label, prediction, probability : str
        Its columns, as it calls them.
    scores : tuple of str
        What it gives of its ``raw_prediction`` and its ``probability``.
    weight : str or None
    thresholds : tuple of float or None
        One for each class, that it predicts by.
    """

    position: int
    label: str
    prediction: str
    probability: str
    scores: tuple[str, ...]
    weight: str | None
    thresholds: tuple[float, ...] | None

    @classmethod
    def of(cls, stages: Sequence[Stage], what: str) -> Self:
        """Return the columns of the classifier among bound stages; ConfigError, which names `what`, without one."""
        for position in reversed(range(len(stages))):
            stage = stages[position]
            scores = [getattr(stage, name, None) for name in ("raw_prediction", "probability")]
            given = tuple(name for name in scores if name in stage.outputs())
            if given and isinstance(getattr(stage, "label", None), str):
                names = {name: getattr(stage, name) for name in ("label", "prediction", "probability", "weight")}
                return cls(position=position, scores=given, thresholds=_thresholds(stage), **names)
        raise ConfigError(
            f"{what} takes a pipeline with a classifier, which gives scores; the stages are"
            f" {', '.join(stage.title for stage in stages) or 'none'}",
            hint='A LogisticRegression say; a SklearnEstimator with method="predict" gives no scores.',
        )

    def check_classes(self, models: Sequence[PipelineModel]) -> None:
        """Raise DataValueError unless the models of all folds know the same classes, so that scores mean the same."""
        of_models = [classes_of(model.fitted[self.position]) or () for model in models]
        every = sorted({value for classes in of_models for value in classes})
        for fold, classes in enumerate(of_models):
            missing = [value for value in every if value not in classes]
            if missing:
                raise DataValueError(
                    f"the training rows of fold {fold} have no {', '.join(map(repr, missing[:5]))} in label"
                    f" {self.label!r}, and others have",
                    hint='Take fewer folds, or stratify them: folds={"num_folds": 5, "stratify": "label"}.',
                    column=self.label,
                )


def _thresholds(stage: Stage) -> tuple[float, ...] | None:
    """Return the threshold of each class, of a stage that may have one for the second of two."""
    threshold = getattr(stage, "threshold", 0.5)
    return getattr(stage, "thresholds", None) if threshold == 0.5 else (1 - threshold, threshold)


class OutOfFoldStage(ABC):
    """Fits a pipeline with a classifier, and after it a stage that learns from predictions out of fold.

    Parameters
    ----------
    pipeline : Pipeline or OutOfFoldStage
    folds : int, mapping or Folds
    options : SpmdOptions, optional
    """

    def __init__(
        self, pipeline: Pipeline | OutOfFoldStage, folds: int | Mapping[str, Any] | Folds, options: SpmdOptions | None
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
