"""A pipeline that ends with a regression as a regressor of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from penstock.integrations.sklearn._estimator import _PenstockEstimator, checked_labels, supervised
from penstock.integrations.sklearn._tables import numpy_column, target_array


class PenstockRegressor(RegressorMixin, _PenstockEstimator):
    """A pipeline whose last stage learns a number, as a regressor.

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
    n_features_in_ : int
    feature_names_in_ : numpy.ndarray of str
        Where `X` had names at fit.

    Notes
    -----
    `X` is a frame of pandas, Polars or Arrow, or what makes an array of two dimensions; NaN and None are null.
    Predictions are the column of ``model_.transform``, to the bit; NaN where it is null.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from penstock import selectors, stages as st
    >>> X = np.arange(40.0).reshape(-1, 2)
    >>> regressor = PenstockRegressor([st.StandardScaler(selectors.all()), st.LinearRegression("y")])
    >>> search = GridSearchCV(regressor, {"LinearRegression__reg_param": [0.0, 100.0]}, cv=3).fit(X, 3 * X[:, 0])
    >>> search.best_params_
    {'LinearRegression__reg_param': 0.0}
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from `X` and `y`.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Numbers; no NaN or infinity.
        sample_weight : array of shape (n_samples,), optional
            For all stages that take weights.

        Raises
        ------
        ConfigError
            No stage learns a label; there are weights, and no stage takes any.
        PenstockError
            As `Pipeline.fit`.
        """
        values = checked_labels(self, y, np.float64)
        pipeline, roles = supervised(self._pipeline(), X, values, target_array(values), sample_weight)
        return self._fit(pipeline, X, roles)

    def predict(self, X: Any) -> np.ndarray:
        """Return a float64 for each row."""
        return numpy_column(self._output(X, "prediction"))
