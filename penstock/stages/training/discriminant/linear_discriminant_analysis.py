"""Linear discriminant analysis: classes as normal distributions that share their covariance, learned in one scan."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.frames import Kind, matrices
from penstock.stages._onnx_classes import class_columns, likeliest
from penstock.stages.base import Fitted
from penstock.stages.constant_columns import constant_note
from penstock.stages.onnx_graph import OnnxGraph, not_in_onnx
from penstock.stages.shapes import Anything, Fields, ListOf, Number, Shape, TableOf
from penstock.stages.training.discriminant._discriminant import Discriminant
from penstock.stages.training.exact.design import linear
from penstock.stages.training.linear._coefficient_table import coefficient_table
from penstock.statistics.class_grams import ProductsByClass
from penstock.statistics.shrinkage import shrunk_covariance

_SMALLEST = 1e-12
"""Directions of less than this share of the largest variance of standardised features are taken for none."""


@dataclass(frozen=True)
class LinearDiscriminantAnalysis(Discriminant):
    """The likeliest class, of classes that are normal distributions of one covariance and a mean each.

    It is learned from the means and products of features by class: in one scan, without iterations, and yesterday's
    statistics merged with today's are the refit. Labels may be integers, booleans, strings, or floating numbers without
    a fraction; their values are the classes, in ascending order. Columns added by `transform`:

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
        The column of classes, without null; at most 1,000 classes.
    features : str, sequence of str, or Selector, optional
        Columns of numbers or booleans (0 and 1); all but label and weight, unless given. Without null.
    weight : str, optional
        Column of row weights, not negative, without null. A row of weight 0 is as if absent.
    priors : sequence of float, optional
        The probability of each class, above 0, with a sum of 1; the shares of the classes, unless given.
    shrinkage : float, {"auto", "oas"} or None, default=None
        How far the covariance of each class is drawn towards a multiple of the identity, from 0 to 1. "auto" finds it
        by the rule of Ledoit and Wolf for standardised features, "oas" by that of Chen et al. for features as they are.
        With few rows for each feature, predictions are better with one.
    thresholds : sequence of float, optional
        One for each class: predicted is the class whose probability divided by its threshold is largest; see
        :class:`LogisticRegression`.
    prediction, probability, raw_prediction : str
        Names of the columns that are added.

    Raises
    ------
    SchemaError, ConfigError
        Before reading: a column is missing or of the wrong type, or the label is among the features.
    DataValueError
        At fit: a label, weight or feature is null or infinite, or beyond 1e150 (1e75 for "auto"); a label has a
        fraction, a weight is negative; there is one class, or more than 1,000; no feature varies within a class. At
        fit and when predicting: a feature is infinite. Names column, count, first file and row.
    ConfigError
        At fit: there are not as many `thresholds` or `priors` as classes.

    Notes
    -----
    Learned are ``classes``, ``priors``, ``mean`` (of features, by the priors; it is subtracted first), ``coefficients``
    (a row a class, a column a feature), ``intercepts`` and ``constant`` (features that vary within no class, of
    coefficient 0). The covariance is the mean, by the priors, of those of the classes, with n in the denominator: that
    of scikit-learn's solvers "lsqr" and "eigen". Where features explain each other, up to 1e-12 of the variance, the
    coefficients of least norm are taken, in terms of standardised features.

    Log odds, probabilities and predictions are scikit-learn's. The log scores of more than two classes are less than
    its ``decision_function`` by a number that is the same for all classes of a row.

    Examples
    --------
    >>> import penstock as ps, pyarrow as pa
    >>> from penstock import stages as st
    >>> table = pa.table({"x": [1.0, 2.0, 6.0, 7.0], "y": [1.0, 3.0, 4.0, 9.0], "kind": ["a", "a", "b", "b"]})
    >>> data = ps.LocalEngine().from_arrow(table)
    >>> model = ps.Pipeline(st.LinearDiscriminantAnalysis("kind", shrinkage=0.1)).fit(data)
    >>> model.transform(data).to_arrow()["prediction"].to_pylist()
    ['a', 'a', 'b', 'b']
    """

    def finish(self, results: Mapping[str, Any]) -> Fitted:
        """Return classes, priors, and the coefficients of the score of each class."""
        found = self._checked(results["classes"])
        priors = self._priors(found)
        mean = sum(share * each.mean for share, each in zip(priors, found.products, strict=True))
        coefficients, constant = self._coefficients(found, priors, found.means - mean)
        halves = ((found.means - mean) * coefficients).sum(axis=1) / 2
        return {
            "classes": pa.table({"value": found.classes}),
            "priors": priors.tolist(),
            "mean": np.asarray(mean).tolist(),
            "coefficients": self._table(coefficients),
            "intercepts": (np.log(priors) - halves).tolist(),
            "constant": [name for name, each in zip(self.inputs(), constant, strict=True) if each],
        }

    def _coefficients(
        self, found: ProductsByClass, priors: np.ndarray, away: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients for means that are `away` from that of all, and which features are constant."""
        covariances = (
            share * shrunk_covariance(each, self.shrinkage) for share, each in zip(priors, found.products, strict=True)
        )
        covariance = np.sum(list(covariances), axis=0)
        deviations = np.sqrt(np.diag(covariance))
        used = np.flatnonzero(deviations)
        if not len(used):
            raise DataValueError(
                f"no feature varies within a class: {', '.join(self.inputs()[:10])}",
                hint="Check that the features are those that were meant, and none of them tells the label itself.",
                column=self.inputs()[0],
            )
        units = deviations[used]
        normal, right = covariance[np.ix_(used, used)] / units[:, None] / units, away[:, used] / units
        coefficients = np.zeros_like(away)
        coefficients[:, used] = np.linalg.lstsq(normal, right.T, rcond=_SMALLEST)[0].T / units
        return coefficients, deviations == 0

    def fitted_shape(self, schema: pa.Schema, fitted: Fitted) -> Shape | None:
        classes, names = fitted["classes"].num_rows, self.inputs()
        of_classes = ListOf(Number(), classes)
        return Fields(
            {
                **self.target.shapes(),
                "priors": of_classes,
                "mean": ListOf(Number(), len(names)),
                "coefficients": TableOf(dict.fromkeys(names, pa.types.is_floating), rows=classes),
                "intercepts": of_classes,
                "constant": Anything(),
            }
        )

    def notes(self, fitted: Fitted) -> list[str]:
        """Name the features that take no part."""
        return [*constant_note(fitted["constant"], "of coefficient 0"), *super().notes(fitted)]

    def _scores(self, columns: Any, fitted: Fitted, kind: Kind) -> Any:
        mean, coefficients, intercepts = (
            matrices.to_device(each, kind)
            for each in (
                np.array(fitted["mean"])[:, None],
                self._matrix(fitted["coefficients"]),
                np.array(fitted["intercepts"])[:, None],
            )
        )
        return linear(columns - mean, coefficients) + intercepts

    def to_onnx(self, graph: OnnxGraph, fitted: Fitted) -> None:
        if self.thresholds is not None:
            raise not_in_onnx(self, "thresholds", "Export probabilities of a model without.")
        coefficients, intercepts = self._matrix(fitted["coefficients"]), np.array(fitted["intercepts"])
        moved = graph.add("Sub", graph.numbers(self.inputs()), graph.constant(np.array(fitted["mean"])))
        products = graph.add("MatMul", moved, graph.constant(coefficients.T))
        scores = graph.add("Add", products, graph.constant(intercepts))
        place, probability, raw = likeliest(graph, scores), graph.add("Softmax", scores, axis=1), scores
        if len(intercepts) == 2:
            raw = graph.add("Sub", graph.part(scores, 1), graph.part(scores, 0))
            probability = graph.add("Sigmoid", raw)
        names = (self.raw_prediction, self.probability, self.prediction)
        graph.assign(class_columns(graph, names, fitted, raw, probability, place))

    def coefficients(self, fitted: Fitted) -> pa.Table:
        """Return a row per feature and one for the intercept, of the score of each class; see `coefficient_table`.

        Of two classes there is one, the log odds of the second.
        """
        rows, intercepts = self._matrix(fitted["coefficients"]), np.array(fitted["intercepts"])
        classes = fitted["classes"]["value"].to_pylist()
        if len(classes) == 2:
            rows, intercepts = rows[1:] - rows[:1], intercepts[1:] - intercepts[:1]
        away = [math.fsum([own, *(-row * fitted["mean"])]) for row, own in zip(rows, intercepts, strict=True)]
        return pa.concat_tables(
            coefficient_table(list(zip(self.inputs(), row.tolist(), strict=True)), own, of_class=value)
            for row, own, value in zip(rows, away, classes[-len(rows) :], strict=True)
        )
