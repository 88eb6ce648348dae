"""A pipeline whose classifier gives probabilities that are borne out by rows which it has not seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.dataset.folds.folds import Folds
from penstock.pipeline.pipeline import Pipeline
from penstock.search.out_of_fold_stage import ClassifierColumns, OutOfFoldStage
from penstock.spmd import SpmdOptions
from penstock.stages.training.calibration.probability_calibrator import ProbabilityCalibrator


class CalibratedClassifier(OutOfFoldStage):
    """Fits a pipeline, and calibrates the probabilities of its classifier by cross-validation.

    The pipeline is fitted on the training rows of each fold, all side by side, and scores the others. From these scores
    and the labels a `ProbabilityCalibrator` is learned in one scan, and put after the pipeline fitted to all rows:
    scikit-learn's ``CalibratedClassifierCV(ensemble=False)``, with every stage inside the folds. What comes is a
    `PipelineModel` like any other.

    Parameters
    ----------
    pipeline : Pipeline
        With a classifier; label, weight and columns are those of the last one.
    method : {"sigmoid", "isotonic"}, default "sigmoid"
        As of `ProbabilityCalibrator`.
    folds : int, mapping or Folds, default 5
        As of `CrossValidator`.
    num_bins : int, default 0
        As of `ProbabilityCalibrator`.
    options : SpmdOptions, optional
        Of the trainings.

    Raises
    ------
    ConfigError
        The method is not known, `num_bins` is out of range, or there is no pipeline.

    Notes
    -----
    A row is predicted to be of the class with the largest calibrated probability, or by the ``thresholds`` of the
    classifier where it has some; `TunedThreshold` takes a CalibratedClassifier in place of a pipeline.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> rows = {"x": [i % 20 for i in range(400)], "y": [int(i % 20 + i * 7 % 11 > 15) for i in range(400)]}
    >>> data = ps.LocalEngine().from_arrow(pa.table(rows))
    >>> pipeline = ps.Pipeline(st.StandardScaler("x"), st.NaiveBayes("y", model_type="gaussian"))
    >>> model = CalibratedClassifier(pipeline, method="isotonic").fit(data)
    >>> model.names, 0.4 < model.predict({"x": 10})["probability"] < 0.7
    (('StandardScaler', 'NaiveBayes', 'ProbabilityCalibrator'), True)
    """

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        method: str = "sigmoid",
        folds: int | Mapping[str, Any] | Folds = 5,
        num_bins: int = 0,
        options: SpmdOptions | None = None,
    ) -> None:
        super().__init__(pipeline, folds, options)
        ProbabilityCalibrator("label", method=method, num_bins=num_bins)  # which refuses what it does not know
        self.method, self.num_bins = method, num_bins

    def stage(self, columns: ClassifierColumns) -> ProbabilityCalibrator:
        """Return the calibrator to fit after the classifier."""
        return ProbabilityCalibrator(
            columns.label,
            method=self.method,
            raw_prediction=columns.scores[0],
            probability=columns.probability,
            prediction=columns.prediction,
            weight=columns.weight,
            thresholds=columns.thresholds,
            num_bins=self.num_bins,
        )
