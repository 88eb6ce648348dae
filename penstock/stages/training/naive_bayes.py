"""Naive Bayes: four models of features that are independent given the class, each learned in one scan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import narwhals as nw
import numpy as np
import pyarrow as pa

from penstock import arrays, frames
from penstock.errors import DataValueError
from penstock.selectors import Columns
from penstock.stages.base import (
    Fitted,
    Tags,
    check_choice,
    check_number,
    normalise_columns,
)
from penstock.stages.training import _bayes
from penstock.stages.training._learner import Classifier, known
from penstock.statistics.base import Statistic
from penstock.statistics.class_moments import ClassMoments, MomentsByClass
from penstock.statistics.rules import Rule, refuse, valid_rows
from penstock.statistics.violations import Violations

_MOST_CLASSES = 10_000
_DOMAIN = {"multinomial": "negative", "complement": "negative", "bernoulli": "not_binary"}


@dataclass(frozen=True)
class NaiveBayes(Classifier):
    """The class whose prior times the likelihood of its features is largest, features taken as independent.

    It is learned from sums over the rows of each class: in one scan, of any number of partitions, and yesterday's
    statistics merged with today's are the refit. Labels may be integers, booleans, strings, or floating numbers without
    a fraction; their values are the classes, in ascending order. Columns added by `transform`, named as MLlib names
    them:

    ============== ============================ ============================================
    column         two classes                  more classes
    ============== ============================ ============================================
    rawPrediction  float64: log odds of class 2 list of float64: log score of each class
    probability    float64: of class 2          list of float64: of each class
    prediction     the class, in the label's type
    ============== =========================================================================

    A row with a null feature has null in all three.

    Parameters
    ----------
    label : str
        The column of classes, without null.
    features : str, sequence of str, or Selector, optional
        Numeric columns; all but label and weight, unless given. Without null.
    weight : str, optional
        Column of row weights, not negative, without null. A row of weight 0 is as if absent.
    smoothing : float, default=1.0
        Added to every count, so that what was not seen is not impossible; 0 or more. The gaussian model has none.
    model_type : {"multinomial", "complement", "bernoulli", "gaussian"}, default="multinomial"
        For counts and other amounts (0 or more); the same, learned from the rows of all other classes, for classes of
        unequal size; for 0 and 1 (or booleans); for any numbers.
    prediction, probability, raw_prediction : str
        Names of the columns that are added.

    Raises
    ------
    SchemaError, ConfigError
        Before reading: a column is missing or of the wrong type, or the label is among the features.
    DataValueError
        At fit: a label, weight or feature is null or infinite, a label has a fraction, a weight is negative; there is
        one class, or more than 10,000; smoothing is 0 and a count too; every feature of the gaussian model is constant.
        At fit and when predicting: a feature is infinite, or not in the domain of the model. Names column, count, first
        file and row.

    Notes
    -----
    Learned are ``classes``, ``pi``, ``theta`` and (gaussian) ``sigma``, as MLlib defines them: the logarithms of the
    priors; those of the probabilities of features (the negative for the complement model; means for the gaussian one);
    and variances, to each of which 1e-9 of the largest variance of a feature over all rows is added. The log score is
    MLlib's ``rawPrediction``, and the log odds are the difference of its two elements.

    scikit-learn's ``MultinomialNB``, ``BernoulliNB``, ``ComplementNB`` and ``GaussianNB`` are the same, except that
    they smooth no prior (MLlib smooths those of all but the gaussian model, by ``(n + smoothing) / (N + k *
    smoothing)`` for k classes), that the score of ``GaussianNB`` has the constant ``-log(2 * pi) / 2`` for each feature
    (the same for all classes), and that its 1e-9 is of a variance without weights. In MLlib classes of no weight count.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> words = {"goal": [3, 2, 0, 0], "vote": [0, 1, 4, 2], "topic": ["sport", "sport", "politics", "politics"]}
    >>> data = ps.LocalEngine().from_arrow(pa.table(words))
    >>> model = ps.Pipeline(st.NaiveBayes("topic")).fit(data)
    >>> model.transform(data).to_arrow()["prediction"].to_pylist()
    ['sport', 'sport', 'politics', 'politics']
    """

    label: str
    _: KW_ONLY
    features: Columns | None = None
    weight: str | None = None
    smoothing: float = 1.0
    model_type: str = "multinomial"
    prediction: str = "prediction"
    probability: str = "probability"
    raw_prediction: str = "rawPrediction"

    tags: ClassVar[Tags] = Tags(accepts="numeric")

    def __post_init__(self) -> None:
        normalise_columns(self, "features")
        check_choice(self, "model_type", _bayes.MODEL_TYPES)
        check_number(self, "smoothing", least=0)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return instances for the conformance suite."""
        return (
            cls("label", features=("n3", "y"), model_type="gaussian"),
            cls("class", features=("n3", "y"), weight="w", model_type="gaussian"),
            cls("class", features=("w", "label")),
            cls("class", features=("w", "label"), model_type="complement"),
            cls("class", features="label", model_type="bernoulli", smoothing=0.5),
        )

    def statistics(self, schema: pa.Schema) -> dict[str, Statistic]:
        """Ask for the moments of each class, and for how many features are not in the domain of the model."""
        weights = (self.weight,) if self.weight else ()
        columns = (self.label, *self.inputs(), *weights)
        moments = ClassMoments(columns, weighted=bool(weights), limit=_MOST_CLASSES)
        test = _DOMAIN.get(self.model_type)
        return {"moments": moments} | ({"outside": Violations(self.inputs(), test)} if test else {})

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return ``classes``, ``pi``, ``theta`` and ``sigma``; the last two as tables with a column a feature."""
        for name, violation in results.get("outside", {}).items():
            if violation.count:
                raise Rule(_DOMAIN[self.model_type]).error(name, violation.count)
        moments: MomentsByClass = results["moments"]
        hint = "rows of weight 0 do not count."
        self._check_count(moments.classes.to_pylist(), moments.rows.tolist(), _MOST_CLASSES, hint)
        pi, *matrices = _bayes.learn(self.model_type, moments, self.smoothing)
        self._check_learned(moments, matrices)
        tables = [pa.table(dict(zip(self.inputs(), matrix.T, strict=True))) for matrix in matrices]
        classes = pa.table({"value": moments.classes})
        return {"classes": classes, "pi": pi.tolist(), **dict(zip(("theta", "sigma"), tables, strict=False))}

    def _check_learned(self, moments: MomentsByClass, matrices: list[np.ndarray]) -> None:
        """Raise DataValueError for probabilities of 0 and variances of 0, of which no logarithm can be taken."""
        if self.model_type == "gaussian":
            if not matrices[1].all():
                raise DataValueError(
                    f"every feature is constant: {', '.join(self.inputs()[:10])}",
                    hint="Check that the features are those that were meant.",
                    column=self.inputs()[0],
                )
            return
        logs = matrices[0] + (_bayes.absent(matrices[0]) if self.model_type == "bernoulli" else 0.0)
        bad = np.argwhere(~np.isfinite(logs))
        if len(bad):
            value, name = moments.classes[bad[0][0]].as_py(), self.inputs()[bad[0][1]]
            raise DataValueError(
                f"column {name!r} gives class {value!r} a probability of 0, and smoothing is {self.smoothing}",
                hint="Pass a smoothing above 0: what was not seen in training should not be impossible.",
                column=name,
            )

    def transform(self, frame: nw.DataFrame, fitted: Fitted) -> nw.DataFrame:
        """Score all classes feature by feature."""
        matrix = arrays.to_matrix(frame, self.inputs(), "float64")
        self._check_features(frame, matrix)
        missing = np.isnan(matrix).any(axis=1)
        scores = self._scores(matrix, fitted, frames.kind_of(frame))
        self._check_scores(scores, missing)
        return self._with_columns(frame, scores, missing, fitted["classes"]["value"].combine_chunks())

    def _check_features(self, frame: nw.DataFrame, matrix: Any) -> None:
        refuse([(name, Rule("infinite")) for name in self.inputs()], arrays.count_infinite(matrix))
        if test := _DOMAIN.get(self.model_type):
            checks = [(name, Rule(test)) for name in self.inputs()]
            refuse(checks, valid_rows(frame, checks)[1])

    def _scores(self, matrix: Any, fitted: Fitted, kind: frames.Kind) -> Any:
        theta = self._matrix(fitted["theta"])
        sigma = self._matrix(fitted["sigma"]) if "sigma" in fitted else None
        return _bayes.scores(self.model_type, matrix, np.array(fitted["pi"]), theta, sigma, kind)

    def _matrix(self, table: pa.Table) -> np.ndarray:
        """Return the columns of the features, of shape (n_classes, n_features)."""
        return np.stack([table[name].to_numpy() for name in self.inputs()], axis=1)

    def _check_scores(self, scores: Any, missing: Any) -> None:
        lost = int((~np.isfinite(scores).all(axis=0) & ~missing).sum())
        if lost:
            raise DataValueError(
                f"{lost} row(s) have features so far from those of training that their scores overflow float64:"
                f" {', '.join(self.inputs()[:10])}",
                hint="Clip the features to the range that they can have.",
                rows=lost,
            )

    def _with_columns(self, frame: nw.DataFrame, scores: Any, missing: Any, classes: pa.Array) -> nw.DataFrame:
        probability = _bayes.probabilities(scores)
        code = np.where(missing, -1, scores.argmax(axis=0)).astype("int32")
        raw = scores[1] - scores[0] if len(classes) == 2 else scores.T.copy()
        of_classes = probability[1] if len(classes) == 2 else probability.T.copy()
        made = [arrays.column(frame, self.raw_prediction, raw), arrays.column(frame, self.probability, of_classes)]
        made = [known(frame, series, missing) for series in made]
        return frame.with_columns(*made, frames.decode(arrays.column(frame, self.prediction, code), classes))
