"""Preprocessing stages as a transformer of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import _check_feature_names_in, check_consistent_length, check_is_fitted, column_or_1d

from penstock.core.errors import ConfigError
from penstock.engines.base import Engine
from penstock.integrations.sklearn._estimator import Stages, _PenstockEstimator
from penstock.integrations.sklearn._tables import output, target_array
from penstock.stages.capabilities import TrainingTransformer
from penstock.stages.step import capability


class PenstockTransformer(TransformerMixin, _PenstockEstimator):
    """Stages as a transformer: scaling, imputing, encoding, a projection, clusters; whatever needs no `predict`.

    Parameters
    ----------
    stages : Pipeline, Stage, or sequence of Stage or (str, Stage)
        Their columns are those of `X`: by name of a frame, and ``x0``, ``x1`` and so on of an array.
    label : str, optional
        The column of `y` for stages that learn from it, a TargetEncoder say. Without it `y` is passed over.
    engine : Engine, optional
        Where it fits and transforms; a local one unless given.

    Attributes
    ----------
    model_ : PipelineModel
        What was fitted; it can be saved, evaluated and exported.
    n_features_in_ : int
    feature_names_in_ : numpy.ndarray of str
        Where `X` had names at fit.

    Notes
    -----
    `X` is a frame of pandas, Polars or Arrow, or what makes an array of two dimensions; NaN and None are null. What
    comes out are all columns there are after the last stage, as an array, of objects where some are no numbers;
    ``set_output(transform="pandas")`` or ``"polars"`` keeps names and types. The values are those of
    ``model_.transform``, to the bit.

    Examples
    --------
    >>> import numpy as np
    >>> from penstock import selectors, stages as st
    >>> scaler = PenstockTransformer([st.Imputer(selectors.numeric()), st.StandardScaler(selectors.numeric())])
    >>> scaler.fit_transform(np.array([[1.0, 4.0], [np.nan, 5.0], [3.0, 6.0]]))
    array([[-1., -1.],
           [ 0.,  0.],
           [ 1.,  1.]])
    """

    def __init__(self, stages: Stages, *, label: str | None = None, engine: Engine | None = None) -> None:
        super().__init__(stages, engine=engine)
        self.label = label

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from `X`, and from `y` where there is a `label`.

        Raises
        ------
        ConfigError
            There is a `label` and no `y`.
        PenstockError
            As `Pipeline.fit`.
        """
        pipeline = self._pipeline()
        if self.label is None:
            self._fit(pipeline, X, {})
        else:
            if y is None:
                raise ConfigError(f"label is {self.label!r}, and there is no y to be it")
            values = column_or_1d(y, warn=True)
            check_consistent_length(X, values)
            self._fit(pipeline, X, {self.label: target_array(values)})
        self._names_out = self._output_names()
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and transform the same rows.

        Raises
        ------
        ConfigError
            A stage learns from the label: a row's features would contain its own label.
        """
        pipeline = self._pipeline()
        for name, stage in zip(pipeline.names, pipeline.stages, strict=True):
            if capability(stage, TrainingTransformer) is not None:
                raise ConfigError(
                    f"{name} learns from the label, and would leak it to the rows that it learned from",
                    hint="Put it and the model into one PenstockClassifier or PenstockRegressor, which encodes each "
                    "row by the others (cross-fitting); or fit on some rows and transform others.",
                    stage=stage.title,
                )
        return self.fit(X, y, **fit_params).transform(X)

    def transform(self, X: Any) -> Any:
        """Return an array of shape (n_samples, n_columns), or what `set_output` asks for.

        Raises
        ------
        sklearn.exceptions.NotFittedError, PenstockError
        """
        container = _get_output_config("transform", self)["dense"]
        return output(self._transformed(X), container, X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that come out."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.array(self._names_out, dtype=object)

    def _output_names(self) -> list[str]:
        schema = self.model_.schema
        features = schema.empty_table().select(self._columns)
        return self.model_.transform(self._engine().from_arrow(features)).schema.names
