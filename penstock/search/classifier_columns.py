"""The classifier of a pipeline, and the columns that it reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from penstock.core.errors import ConfigError, DataValueError
from penstock.pipeline.model import PipelineModel
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
                return cls._of(position, stage, given)
        raise ConfigError(
            f"{what} takes a pipeline with a classifier, which gives scores; the stages are"
            f" {', '.join(stage.title for stage in stages) or 'none'}",
            hint='A LogisticRegression say; a SklearnEstimator with method="predict" gives no scores.',
        )

    @classmethod
    def _of(cls, position: int, stage: Stage, scores: tuple[str, ...]) -> Self:
        names = {name: getattr(stage, name) for name in ("label", "prediction", "probability", "weight")}
        return cls(position=position, scores=scores, thresholds=_thresholds(stage), **names)

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
