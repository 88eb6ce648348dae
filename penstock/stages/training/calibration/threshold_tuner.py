"""The threshold from which on rows are predicted positive, chosen by a metric or by costs, in one scan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock.core.errors import ConfigError, DataValueError, check_one_of
from penstock.stages.base import Fitted, RowFunction, Tags, with_fields
from penstock.stages.parameter_checks import in_range, wrong_parameter
from penstock.stages.shapes import Anything, Fields, Number, Shape
from penstock.stages.training.calibration._score_stage import ScoreStage
from penstock.statistics.tied_sums import Tied

_DRAWN = 500
_DEFAULT = "balancedAccuracy"
_LARGEST = 1e100


@dataclass(frozen=True)
class ThresholdTuner(ScoreStage):
    """Replaces the prediction of a binary classifier by that of the threshold that is best for a metric, or for costs.

    A row is predicted to be of the second of the two classes, in ascending order, where its probability is at least the
    threshold. Every score that occurs is tried, from one scan. The rows should be others than the classifier was
    trained on, whose scores are too good: `penstock.TunedThreshold` sees to that for a whole pipeline.

    Parameters
    ----------
    label : str
        The column of two classes, without null: integers, booleans, strings, or floating numbers without a fraction.
    metric : str, optional
        What is to be as large as possible: ``accuracy``, ``balancedAccuracy``, ``cohensKappa``, ``f1``, ``fMeasure``
        (see `beta`), ``geometricMean`` (of recall and specificity), ``jaccard``, ``matthewsCorrelation``,
        ``precision``, ``recall``, ``specificity`` or ``youdensJ``, of the second class. ``balancedAccuracy``, unless
        this or `costs` is given.
    beta : float, default=1.0
        How many times recall counts against precision in ``fMeasure``.
    costs : mapping of str to float, optional
        In place of a metric: what a true positive (``tp``), false positive (``fp``), false negative (``fn``) and true
        negative (``tn``) cost, 0 unless given; a gain is a negative cost. The mean cost of a row is to be as small as
        possible.
    min_precision, min_recall : float, optional
        From 0 to 1: only thresholds that reach these are looked at. ``metric="recall", min_precision=0.9`` is the
        largest recall at a precision of 90 %.
    probability : str, default="probability"
        The column of scores: a probability of the second class, or any finite number that is larger for rows more
        likely of it; or lists of two, whose second is taken.
    weight : str, optional
        Column of row weights, 0 or more. A row of weight 0 is as if absent.
    prediction : str, default="prediction"
        The column of the class that is predicted, which is replaced or added; null where the score is.
    num_bins : int, default=0
        0 to try every distinct score, up to 512 MiB a class. Otherwise, at least 2, the most cells of equal width to
        put scores in: then their lower edges are tried, at which metrics are exact too.

    Raises
    ------
    SchemaError, ConfigError
        Before reading: a column is missing or of a type that does not suit; a metric is not known, or there are costs
        too; a number is out of range.
    DataValueError
        At fit: a score, label or weight is null, a score infinite, a weight negative or none positive; there are not
        two classes; no threshold reaches `min_precision` and `min_recall`, or the metric is defined at none. Names
        column, count, first file and row. At scoring: a score is infinite.
    ExecutionError
        At fit: the distinct scores take too much memory; set `num_bins`.

    Notes
    -----
    The threshold is one of the scores, or just above all of them, where nothing is predicted to be of the second class.
    Of several that are equally good it is the largest. A metric that divides by 0, as precision where nothing is
    predicted positive, is undefined there, and is not taken. Definitions are those of scikit-learn (``geometricMean``
    is imbalanced-learn's), whose ``TunedThresholdClassifierCV`` tries 100 thresholds between the smallest and the
    largest score.

    Learned are ``classes`` (a table of ``value``), ``threshold``, ``metric`` (its name, or ``cost``), ``value`` (what
    it is there), ``confusion`` (the weights ``tp``, ``fp``, ``fn`` and ``tn``), and ``table``, with ``threshold``,
    these four and ``value`` (null where undefined), of at most 500 thresholds: every so many rows, the one chosen among
    them.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> table = pa.table({"probability": [0.1, 0.3, 0.4, 0.7], "label": ["no", "yes", "no", "yes"]})
    >>> data = ps.LocalEngine().from_arrow(table)
    >>> model = ps.Pipeline(st.ThresholdTuner("label", costs={"fp": 1, "fn": 5})).fit(data)
    >>> model.fitted[0]["threshold"], model.fitted[0]["value"], model.predict({"probability": 0.35})
    (0.3, 0.25, {'prediction': 'yes'})
    """

    _: KW_ONLY
    metric: str | None = None
    beta: float = field(default=1.0, metadata=in_range(above=0))
    costs: Mapping[str, float] | None = field(default=None, hash=False)
    min_precision: float | None = field(default=None, metadata=in_range(least=0, most=1))
    min_recall: float | None = field(default=None, metadata=in_range(least=0, most=1))
    probability: str = "probability"
    prediction: str = "prediction"

    tags: ClassVar[Tags] = Tags(
        tells_labels="it chooses by what was predicted for rows that the classifier did not see"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.metric is not None:
            check_one_of(f"metric of {self.title}", self.metric, METRICS, stage=self.title)
        if self.costs is not None:
            self._check_costs()

    def _check_costs(self) -> None:
        if self.metric is not None:
            problem = f"metric of {self.title} is {self.metric!r}, and costs is {self.costs!r}"
            raise ConfigError(problem, hint="Pass one of them.", stage=self.title)
        if not isinstance(self.costs, Mapping) or not self.costs:
            raise wrong_parameter(self, "costs", 'numbers by "tp", "fp", "fn" and "tn"')
        for cell, cost in self.costs.items():
            check_one_of(f"a cost of {self.title}", cell, CELLS, stage=self.title)
            if isinstance(cost, bool) or not isinstance(cost, int | float) or not abs(cost) <= _LARGEST:
                raise wrong_parameter(self, "costs", "finite numbers, of at most 1e100")

    @property
    def score(self) -> str:
        return self.probability

    @property
    def _most(self) -> int:
        return 2

    @property
    def _hint(self) -> str:
        return "a threshold is for two."

    def outputs(self) -> tuple[str, ...]:
        return (self.prediction,)

    def output_schema(self, schema: pa.Schema) -> pa.Schema:
        label = schema.field(self.label).type if self.label in schema.names else pa.int64()
        return with_fields(schema, {self.prediction: label})

    def learned_schema(self, schema: pa.Schema, fitted: Fitted) -> pa.Schema:
        """Return the schema with the prediction, of the type of the classes that were learned."""
        return with_fields(schema, {self.prediction: fitted["classes"]["value"].type})

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return the classes, the threshold, and what it was chosen by."""
        classes, scores = self._learned(results)
        confusions = Confusions.of(scores.one_against_rest(0, classes["value"][1].as_py()))
        values = self._values(confusions)
        best = self._best(confusions, values)
        return {
            "classes": classes,
            "threshold": float(confusions.thresholds[best]),
            "metric": self._name,
            "value": float(values[best]),
            "confusion": {cell: float(getattr(confusions, cell)[best]) for cell in CELLS},
            "table": _table(confusions, values, best),
        }

    def _best(self, confusions: Confusions, values: np.ndarray) -> int:
        """Return the place of the best of the thresholds that are allowed."""
        allowed = self._reached(confusions) & ~np.isnan(values)
        if not allowed.any():
            raise DataValueError(
                f"{self._name} is undefined at every threshold of {self.score!r}: all rows have one score",
                hint="Find scores that tell the classes apart.",
                column=self.score,
            )
        gains = values if self.costs is None else -values
        return int(np.argmax(np.where(allowed, gains, -np.inf)))

    @property
    def _name(self) -> str:
        return "cost" if self.costs is not None else self.metric or _DEFAULT

    def _values(self, confusions: Confusions) -> np.ndarray:
        return METRICS[self._name](confusions, self.beta) if self.costs is None else confusions.cost(self.costs)

    def _reached(self, confusions: Confusions) -> np.ndarray:
        """Return at which thresholds precision and recall are as large as they must be, at one at least.

        Raises
        ------
        DataValueError
            There is none.
        """
        bounds = {"precision": self.min_precision, "recall": self.min_recall}
        measured = {name: METRICS[name](confusions, 1.0) for name, bound in bounds.items() if bound is not None}
        reached = np.ones(len(confusions.tp), dtype=bool)
        for name, values in measured.items():
            alone = values >= bounds[name]
            if not (reached & alone).any():
                raise self._out_of_reach(name, np.where(reached, values, np.nan), confusions)
            reached &= alone
        return reached

    def _out_of_reach(self, name: str, values: np.ndarray, confusions: Confusions) -> DataValueError:
        best = int(np.nanargmax(values))
        beside = f" and a precision of at least {self.min_precision}" if name == "recall" and self.min_precision else ""
        return DataValueError(
            f"no threshold of {self.score!r} has a {name} of at least {getattr(self, f'min_{name}')}{beside}:"
            f" the largest is {values[best]:.6g}, at {confusions.thresholds[best]:.6g}",
            hint=f"Lower min_{name}, or find better scores.",
            column=self.score,
        )

    def notes(self, fitted: Fitted) -> list[str]:
        """Name the threshold, and what it was chosen by."""
        return [f"threshold {fitted['threshold']:.6g} of {self.score!r}: {fitted['metric']} is {fitted['value']:.6g}"]

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        told = ("metric", "value", "confusion", "table")
        return Fields({**self.target.shapes(), "threshold": Number()}, dict.fromkeys(told, Anything()))

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Predict.

        Raises
        ------
        DataValueError
            A score is infinite; a list has not two elements.
        """
        (score,) = self._scores(frame, 2)
        places = (score >= fitted["threshold"]).astype("int32")
        return self.target.with_columns(frame, {self.prediction: places}, fitted, np.isnan(score))

    def row_function(self, schema: pa.Schema, fitted: Fitted) -> RowFunction | None:
        if pa.types.is_list(schema.field(self.score).type):
            return None
        (negative, positive), threshold = fitted["classes"]["value"].to_pylist(), fitted["threshold"]

        def call(row: dict[str, Any]) -> None:
            value = row[self.score]
            if value is not None:
                value = positive if self._row_score(value)[0, 0] >= threshold else negative
            row[self.prediction] = value

        return call


def _table(confusions: Confusions, values: np.ndarray, best: int) -> pa.Table:
    """Return at most so many thresholds, spread evenly over the rows that are predicted positive, for drawing."""
    positive = confusions.tp + confusions.fp
    even = np.searchsorted(positive, np.linspace(0.0, positive[-1], _DRAWN - 1))
    places = np.unique([*even, best]) if len(values) > _DRAWN else np.arange(len(values))
    columns = {name: getattr(confusions, name)[places] for name in ("thresholds", *CELLS)}
    value = pa.array(values[places], mask=np.isnan(values[places]))
    return pa.table({"threshold": columns.pop("thresholds"), **columns, "value": value})


CELLS = ("tp", "fp", "fn", "tn")


@dataclass(frozen=True, eq=False)
class Confusions:
    """The weights of true and false positives and negatives at each threshold, from which on rows are positive.

    Parameters
    ----------
    thresholds : numpy.ndarray of shape (n_thresholds,)
        Descending: above all scores, and each score.
    tp, fp, fn, tn : numpy.ndarray of shape (n_thresholds,)

    Examples
    --------
    >>> weights = {"positive": np.array([1.0, 2.0]), "negative": np.array([3.0, 0.0])}
    >>> tied = Tied(np.array([0.2, 0.7]), np.array([0.2, 0.7]), 0.8, np.array([4.0, 2.0]), weights)
    >>> confusions = Confusions.of(tied)
    >>> confusions.tp.tolist(), confusions.fp.tolist(), METRICS["recall"](confusions, 1.0).tolist()
    ([0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.6666666666666666, 1.0])
    """

    thresholds: np.ndarray
    tp: np.ndarray
    fp: np.ndarray
    fn: np.ndarray
    tn: np.ndarray

    @classmethod
    def of(cls, tied: Tied) -> Self:
        """Return those of the weights of positive and negative rows at each score."""
        tp, fp = (np.append(0.0, np.cumsum(tied.sums[name][::-1])) for name in ("positive", "negative"))
        return cls(np.append(tied.beyond, tied.lower[::-1]), tp, fp, tp[-1] - tp, fp[-1] - fp)

    def cost(self, costs: Mapping[str, float]) -> np.ndarray:
        """Return the mean cost of a row."""
        total: np.ndarray = sum((costs.get(cell, 0.0) * getattr(self, cell) for cell in CELLS), np.zeros(len(self.tp)))
        return total / float(self.tp[-1] + self.fp[-1])


Metric = Callable[[Confusions, float], np.ndarray]


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return the quotients, NaN where nothing is divided."""
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def _recall(at: Confusions, _: float = 1.0) -> np.ndarray:
    return _ratio(at.tp, at.tp + at.fn)


def _specificity(at: Confusions, _: float = 1.0) -> np.ndarray:
    return _ratio(at.tn, at.tn + at.fp)


def _f_measure(at: Confusions, beta: float) -> np.ndarray:
    squared = beta * beta
    return _ratio((1 + squared) * at.tp, (1 + squared) * at.tp + squared * at.fn + at.fp)


def _matthews(at: Confusions, _: float) -> np.ndarray:
    roots = np.sqrt(at.tp + at.fp) * np.sqrt(at.tp + at.fn) * np.sqrt(at.tn + at.fp) * np.sqrt(at.tn + at.fn)
    return _ratio(at.tp * at.tn - at.fp * at.fn, roots)


def _kappa(at: Confusions, _: float) -> np.ndarray:
    agreement = 2 * (at.tp * at.tn - at.fp * at.fn)
    return _ratio(agreement, (at.tp + at.fp) * (at.fp + at.tn) + (at.tp + at.fn) * (at.fn + at.tn))


METRICS: Mapping[str, Metric] = {
    "accuracy": lambda at, _: (at.tp + at.tn) / (at.tp + at.fp + at.fn + at.tn),
    "balancedAccuracy": lambda at, _: (_recall(at) + _specificity(at)) / 2,
    "cohensKappa": _kappa,
    "f1": lambda at, _: _f_measure(at, 1.0),
    "fMeasure": _f_measure,
    "geometricMean": lambda at, _: np.sqrt(_recall(at) * _specificity(at)),
    "jaccard": lambda at, _: _ratio(at.tp, at.tp + at.fp + at.fn),
    "matthewsCorrelation": _matthews,
    "precision": lambda at, _: _ratio(at.tp, at.tp + at.fp),
    "recall": _recall,
    "specificity": _specificity,
    "youdensJ": lambda at, _: _recall(at) + _specificity(at) - 1,
}
"""Metrics of the positive class by confusions and the beta of the F-measure; larger is better, NaN is undefined."""
