"""A pipeline that ends with a classifier as a classifier of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pyarrow as pa
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from penstock.core.errors import ConfigError, DataValueError
from penstock.integrations.sklearn._estimator import _PenstockEstimator, checked_labels, supervised
from penstock.integrations.sklearn._tables import numpy_column, target_array


def _gives(score: str) -> Any:
    """Return a test whether the pipeline has a column of such scores, as scikit-learn asks before it calls."""
    return lambda estimator: estimator._writer(score) is not None


class PenstockClassifier(ClassifierMixin, _PenstockEstimator):
    """A pipeline whose last stages learn classes, as a classifier.

    Parameters
    ----------
    stages : Pipeline, Stage, or sequence of Stage or (str, Stage)
        Their columns are those of `X`: by name of a frame, and ``x0``, ``x1`` and so on of an array; `y` is the column
        that the stages call their label. Selectors choose among the columns of `X` alone.
    engine : Engine, optional
        Where it fits and scores; a local one unless given.

    Attributes
    ----------
    model_ : PipelineModel
        What was fitted; it can be saved, evaluated and exported.
    classes_ : numpy.ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : numpy.ndarray of str
        Where `X` had names at fit.

    Notes
    -----
    `X` is a frame of pandas, Polars or Arrow, or what makes an array of two dimensions; NaN and None are null. `y` has
    one value a row: integers, booleans, strings, or floating numbers without a fraction. Predictions and probabilities
    are the columns of ``model_.transform``, to the bit.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> from penstock import stages as st
    >>> X, y = np.arange(40.0).reshape(-1, 1), np.repeat(["low", "high"], 20)
    >>> classifier = PenstockClassifier(st.LogisticRegression("label", reg_param=0.01))
    >>> classifier.fit(X, y).predict([[3.0], [30.0]])
    array(['low', 'high'], dtype='<U4')
    >>> cross_val_score(classifier, X, y, cv=4).round(1).tolist()
    [0.8, 1.0, 1.0, 0.7]
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from `X` and `y`.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
        sample_weight : array of shape (n_samples,), optional
            For all stages that take weights.

        Raises
        ------
        ConfigError
            No stage learns a label; there are weights, and no stage takes any.
        PenstockError
            As `Pipeline.fit`.
        """
        labels = checked_labels(self, y)
        check_classification_targets(labels)
        pipeline, roles = supervised(self._pipeline(), X, labels, target_array(labels), sample_weight)
        self._fit(pipeline, X, roles)
        self.classes_ = np.unique(labels)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row, in the type of `y`.

        Raises
        ------
        DataValueError
            A ValueError too: rows have no class, for a feature of theirs is missing.
        """
        classes = self._output(X, "prediction")
        if classes.null_count:
            raise DataValueError(
                f"{classes.null_count} row(s) have no class: a feature is missing, and the model takes none that is",
                hint="Put st.Imputer before it, or filter these rows; predict_proba gives NaN for them.",
                rows=classes.null_count,
            )
        return numpy_column(classes).astype(self.classes_.dtype)

    @available_if(_gives("probability"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, of shape (n_samples, n_classes).

        Raises
        ------
        ConfigError
            The stages have learned other classes than `y` had, an index of each say.
        """
        probability = numpy_column(self._scores(X, "probability"))
        return probability if probability.ndim == 2 else np.column_stack([1 - probability, probability])

    @available_if(_gives("raw_prediction"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of the second of two classes, of shape (n_samples,); of each class of more in columns.

        Raises
        ------
        ConfigError
            As of `predict_proba`.
        """
        return numpy_column(self._scores(X, "raw_prediction"))

    def _scores(self, X: Any, role: str) -> pa.ChunkedArray:
        """Return a column whose scores are of `classes_`, in their order."""
        scores = self._output(X, role)
        known = self.model_.classes.get(getattr(self._writer(role), role))
        if known is not None and list(known) != self.classes_.tolist():
            raise ConfigError(
                f"the stages score the classes {known!r:.200}, and y had {tuple(self.classes_.tolist())!r:.200}",
                hint="Let the classifier learn y as it is: leave out the stage that replaces it.",
            )
        return scores
