"""Scores of a classifier to probabilities that are borne out by labels, in one scan."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import frames
from penstock.stages.base import Fitted, RowFunction, Tags, with_fields
from penstock.stages.classes import check_thresholds
from penstock.stages.parameter_checks import checked_by, one_of
from penstock.stages.shapes import Fields, ListOf, Shape, TableOf
from penstock.stages.target import Target
from penstock.stages.thresholds import winners
from penstock.stages.training.calibration._isotonic import STEPS, Isotonic
from penstock.stages.training.calibration._score_stage import ScoreStage
from penstock.stages.training.linear._log_loss import sigmoid
from penstock.statistics.tied_sums import Tied

_SIGMOIDS = {"slope": pa.types.is_floating, "intercept": pa.types.is_floating}


@dataclass(frozen=True)
class ProbabilityCalibrator(ScoreStage):
    """Replaces the probability of a classifier by one that is borne out: of rows with 0.8, about 80 % are positive.

    It is learned in one scan, from how many rows of each class there are at each score. Those rows should be others
    than the classifier was trained on, whose scores are too good: `penstock.CalibratedClassifier` sees to that for a
    whole pipeline. Of more than two classes each is calibrated against the rest, and the probabilities of a row are
    divided by their sum, as scikit-learn's ``CalibratedClassifierCV`` does it.

    Parameters
    ----------
    label : str
        The column of classes, without null: integers, booleans, strings, or floating numbers without a fraction; at
        most 100 classes.
    method : {"sigmoid", "isotonic"}, default="sigmoid"
        Platt's sigmoid of the score, for hundreds of rows; or any function that rises with it
        (:class:`IsotonicRegression`), for thousands.
    raw_prediction : str, default="rawPrediction"
        The column of scores, finite: of two classes of the second, and of more lists with one for each class, in
        ascending order. Margins or probabilities.
    weight : str, optional
        Column of row weights, 0 or more. A row of weight 0 is as if absent.
    probability : str, default="probability"
        The column that is replaced, or added: float64, of the second of two classes; or list of float64, of each class.
        Null where the score is.
    prediction : str or None, default="prediction"
        The column of the class of the largest probability, of equal ones the first, which is replaced or added; None
        leaves predictions as they are.
    thresholds : sequence of float, optional
        One for each class: predicted is the class whose probability divided by its threshold is largest.
    num_bins : int, default=0
        0 to keep every distinct score, up to 512 MiB a class. Otherwise, at least 2, the most cells of equal width that
        the scores of a class are put in; a cell then stands for its rows by their mean.

    Raises
    ------
    SchemaError, ConfigError
        Before reading: a column is missing or of a type that does not suit.
    DataValueError
        At fit: a score, label or weight is null, a score infinite, a label has a fraction, a weight is negative or none
        positive; there is one class, or more than 100; lists have not a score for each class. Names column, count,
        first file and row. At scoring: a score is infinite, or a list of another length.
    ConfigError
        At fit: there are not as many `thresholds` as classes.
    ExecutionError
        At fit: the distinct scores take too much memory; set `num_bins`.

    Notes
    -----
    The sigmoid is ``1 / (1 + exp(-(slope * score + intercept)))`` with the least log loss where, as Platt has it, of n
    positive rows each counts as ``(n + 1) / (n + 2)``, and of n negative ones as ``1 / (n + 2)``. It is solved for
    exactly; scikit-learn stops a little before. Where all scores are one, the slope is 0. A row to which no class gives
    a probability above 0 gets the same for all.

    Learned are ``classes`` (a table of ``value``), and ``sigmoid``, a table of ``slope`` and ``intercept``, or
    ``isotonic``, tables of ``boundary`` and ``prediction``: one for the second of two classes, otherwise one for each.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> table = pa.table({"rawPrediction": [-2.0, -1.0, -1.0, 1.0, 1.0, 3.0], "label": [0, 0, 1, 0, 1, 1]})
    >>> data = ps.LocalEngine().from_arrow(table)
    >>> model = ps.Pipeline(st.ProbabilityCalibrator("label", method="isotonic")).fit(data)
    >>> model.predict({"rawPrediction": -1.0}), model.predict({"rawPrediction": 2.0})
    ({'probability': 0.5, 'prediction': 0}, {'probability': 0.75, 'prediction': 1})
    """

    _: KW_ONLY
    method: str = field(default="sigmoid", metadata=one_of("sigmoid", "isotonic"))
    raw_prediction: str = "rawPrediction"
    probability: str = "probability"
    prediction: str | None = "prediction"
    thresholds: tuple[float, ...] | None = field(default=None, metadata=checked_by(check_thresholds))

    tags: ClassVar[Tags] = Tags(
        tells_labels="it calibrates what was predicted for rows that the classifier did not see"
    )

    @property
    def score(self) -> str:
        return self.raw_prediction

    def outputs(self) -> tuple[str, ...]:
        return (self.probability,) if self.prediction is None else (self.probability, self.prediction)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        label = schema.field(self.label).type if self.label in schema.names else pa.int64()
        score = schema.field(self.score).type
        return self._schema(schema, pa.list_(pa.float64()) if pa.types.is_list(score) else pa.float64(), label)

    def learned_schema(self, schema: pa.Schema, fitted: Fitted) -> pa.Schema:
        """Return the schema with the columns made, of the types of the classes that were learned."""
        classes = fitted["classes"]["value"]
        return self._schema(schema, pa.float64() if len(classes) == 2 else pa.list_(pa.float64()), classes.type)

    def _schema(self, schema: pa.Schema, probability: pa.DataType, label: pa.DataType) -> pa.Schema:
        return with_fields(schema, dict(zip(self.outputs(), (probability, label), strict=False)))

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return the classes, and the functions of their scores."""
        classes, scores = self._learned(results)
        values = classes["value"].to_pylist()
        positives = values[1:] if len(values) == 2 else values
        tied = [scores.one_against_rest(place, value) for place, value in enumerate(positives)]
        if self.method == "isotonic":
            return {"classes": classes, "isotonic": [_isotonic(each).table() for each in tied]}
        sigmoids = [Sigmoid.fitted(each.values, each.sums["positive"], each.sums["negative"]) for each in tied]
        return {"classes": classes, "sigmoid": pa.Table.from_pylist([asdict(each) for each in sigmoids])}

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        classes = fitted["classes"].num_rows
        functions = 1 if classes == 2 else classes
        of_method: Shape = TableOf(_SIGMOIDS, rows=functions) if self.method == "sigmoid" else ListOf(STEPS, functions)
        return Fields({**self.target.shapes(), self.method: of_method})

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Calibrate each score, and predict.

        Raises
        ------
        DataValueError
            A score is infinite; a list has not as many elements as there are classes.
        """
        scores = self._scores(frame, fitted["classes"].num_rows)
        results = self._results(scores, self._functions(fitted, frames.kind_of(frame)))
        missing = np.isnan(scores).any(axis=0)
        if self.prediction is None:
            return Target(None, {}).with_columns(frame, results, fitted, missing)
        return self.target.with_columns(frame, results, fitted, missing)

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        if pa.types.is_list(schema.field(self.score).type):
            return None
        functions, classes = self._functions(fitted, "cpu"), fitted["classes"]["value"].to_pylist()
        nothing: dict[str, Any] = dict.fromkeys(self.outputs())

        def call(row: dict[str, Any]) -> None:
            value = row[self.score]
            results = None if value is None else self._results(self._row_score(value), functions)
            row.update(nothing if results is None else {name: each[0].item() for name, each in results.items()})
            if results is not None and self.prediction is not None:
                row[self.prediction] = classes[row[self.prediction]]

        return call

    def _functions(self, fitted: Fitted, kind: frames.Kind) -> Sequence[Any]:
        """Return the function of each score: of arrays on a device."""
        if self.method == "sigmoid":
            return [Sigmoid(**each).values for each in fitted["sigmoid"].to_pylist()]
        return [partial(Isotonic.stored(table).values, kind=kind) for table in fitted["isotonic"]]

    def _results(self, scores: Any, functions: Sequence[Any]) -> dict[str, Any]:
        """Return the columns to write, of the prediction the place of the class."""
        each = [function(score) for function, score in zip(functions, scores, strict=True)]
        probability = each[0] if len(each) == 1 else _normalised(np.stack(each, axis=1))
        if self.prediction is None:
            return {self.probability: probability}
        likeliest = probability > 0.5 if len(each) == 1 else probability.argmax(axis=1)
        places = likeliest if self.thresholds is None else winners(probability, self.thresholds)
        return {self.probability: probability, self.prediction: places.astype("int32")}


def _isotonic(tied: Tied) -> Isotonic:
    return Isotonic.fitted(tied.values, tied.sums["positive"] / tied.weight, tied.weight)


def _normalised(probability: Any) -> Any:
    """Return each row divided by its sum; the same for all classes where that is 0."""
    total = probability.sum(axis=1, keepdims=True)
    return np.where(total > 0, probability / np.where(total > 0, total, 1.0), 1.0 / probability.shape[1])


_MOST_STEPS = 100
_NEAR = 1e-6
"""A mean gradient below which Newton's method converges by itself, until only rounding is left."""


@dataclass(frozen=True)
class Sigmoid:
    """The probability ``1 / (1 + exp(-(slope * score + intercept)))``.

    Platt's A and B, and scikit-learn's ``a_`` and ``b_``, are the negatives of these.

    Examples
    --------
    >>> Sigmoid(2.0, -1.0).values(np.array([0.5]))
    array([0.5])
    """

    slope: float
    intercept: float

    @classmethod
    def fitted(cls, scores: np.ndarray, positives: np.ndarray, negatives: np.ndarray) -> Self:
        """Return the likeliest sigmoid where a positive is one but for ``1 / (n + 2)``, and so a negative none.

        Parameters
        ----------
        scores : numpy.ndarray of shape (n_scores,)
            Distinct, one at least.
        positives, negatives : numpy.ndarray of shape (n_scores,)
            The weight of each there, together above 0.
        """
        weights, (n_positive, n_negative) = positives + negatives, (float(positives.sum()), float(negatives.sum()))
        hits = positives * ((n_positive + 1) / (n_positive + 2)) + negatives / (n_negative + 2)
        centre = float(weights @ scores / weights.sum())
        scale = float(np.abs(scores - centre).max())
        share = float(hits.sum() / weights.sum())
        start = np.array([0.0, math.log(share / (1 - share))])
        if not scale:
            return cls(0.0, float(start[1]))
        slope, intercept = _minimised((scores - centre) / scale, weights, hits, start)
        return cls(float(slope / scale), float(intercept - slope / scale * centre))

    def values(self, scores: Any) -> Any:
        """Return the probabilities of an array of scores; NaN for NaN."""
        return sigmoid(self.slope * scores + self.intercept)


def _minimised(scores: np.ndarray, weights: np.ndarray, hits: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return slope and intercept of the least log loss, by Newton's method with steps that are halved.

    Sums are NumPy's: those of BLAS would depend on how many threads there are.
    """
    before, loss = np.inf, _loss(scores, weights, hits, x)
    for _ in range(_MOST_STEPS):
        probability = sigmoid(x[0] * scores + x[1])
        excess, spread = weights * probability - hits, weights * probability * (1 - probability)
        gradient = np.array([(excess * scores).sum(), excess.sum()])
        size = float(np.abs(gradient).max() / weights.sum())
        if not size or (size < _NEAR and size > before / 2):
            break
        mixed = (spread * scores).sum()
        curvature = np.array([[(spread * scores * scores).sum(), mixed], [mixed, spread.sum()]])
        step = np.linalg.solve(curvature + 1e-14 * np.trace(curvature) * np.eye(2), gradient)
        while size >= _NEAR and _loss(scores, weights, hits, x - step) > loss:
            step = step / 2
        x, before = x - step, size
        loss = _loss(scores, weights, hits, x)
    return x


def _loss(scores: np.ndarray, weights: np.ndarray, hits: np.ndarray, x: np.ndarray) -> float:
    margins = x[0] * scores + x[1]
    return float((weights * np.logaddexp(0.0, margins) - hits * margins).sum())
