"""A pipeline whose classifier predicts by the threshold that is best on rows which it has not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from penstock.dataset.folds.folds import Folds
from penstock.pipeline.pipeline import Pipeline
from penstock.search.out_of_fold_stage import ClassifierColumns, OutOfFoldStage
from penstock.spmd import SpmdOptions
from penstock.stages.training.calibration.threshold_tuner import ThresholdTuner


class TunedThreshold(OutOfFoldStage):
    """Fits a pipeline with a classifier of two classes, and tunes the threshold it predicts by in cross-validation.

    The pipeline is fitted on the training rows of each fold, all side by side, and scores the others. From these scores
    and the labels a `ThresholdTuner` is learned in one scan, which tries every threshold, and put after the pipeline
    fitted to all rows: what scikit-learn's ``TunedThresholdClassifierCV`` is for, with every stage inside the folds.
    What comes is a `PipelineModel` like any other.

    Parameters
    ----------
    pipeline : Pipeline or CalibratedClassifier
        With a classifier; label, weight and columns are those of the last one.
    metric : str, optional
        As of `ThresholdTuner`: ``balancedAccuracy`` unless this or `costs` is given.
    costs : mapping of str to float, optional
        What a ``tp``, ``fp``, ``fn`` and ``tn`` cost, in place of a metric.
    beta, min_precision, min_recall, num_bins
        As of `ThresholdTuner`.
    folds : int, mapping or Folds, default 5
        As of `CrossValidator`.
    options : SpmdOptions, optional
        Of the trainings.

    Raises
    ------
    ConfigError
        A parameter is one that `ThresholdTuner` refuses, or there is no pipeline.

    Notes
    -----
    The threshold is of the column ``probability`` of the classifier, or of its scores where it has no probability. That
    of a calibrated classifier is tuned on folds of its own: each of them is calibrated by folds of its training rows.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> rows = {"x": [i % 20 for i in range(400)], "y": [int(i % 20 + i * 7 % 11 > 22) for i in range(400)]}
    >>> data = ps.LocalEngine().from_arrow(pa.table(rows))
    >>> pipeline = ps.Pipeline(st.StandardScaler("x"), st.LogisticRegression("y"))
    >>> model = TunedThreshold(pipeline, metric="recall", min_precision=0.5).fit(data)
    >>> {name: round(model.fitted[-1][name], 2) for name in ("threshold", "value")}
    {'threshold': 0.29, 'value': 0.78}
    """

    def __init__(
        self,
        pipeline: Pipeline | OutOfFoldStage,
        metric: str | None = None,
        *,
        costs: Mapping[str, float] | None = None,
        beta: float = 1.0,
        min_precision: float | None = None,
        min_recall: float | None = None,
        folds: int | Mapping[str, Any] | Folds = 5,
        num_bins: int = 0,
        options: SpmdOptions | None = None,
    ) -> None:
        super().__init__(pipeline, folds, options)
        self.tuner = ThresholdTuner(
            "label", metric=metric, costs=costs, beta=beta,
            min_precision=min_precision, min_recall=min_recall, num_bins=num_bins,
        )  # fmt: skip

    def stage(self, columns: ClassifierColumns) -> ThresholdTuner:
        """Return the tuner to fit after the classifier."""
        return replace(
            self.tuner,
            label=columns.label,
            probability=columns.scores[-1],
            prediction=columns.prediction,
            weight=columns.weight,
        )
