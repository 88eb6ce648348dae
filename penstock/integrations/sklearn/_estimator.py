"""What the estimators share: parameters by scikit-learn's addresses, clones, and the fit of a table."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _check_sample_weight,
    assert_all_finite,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from penstock.core.errors import ConfigError, did_you_mean
from penstock.core.selectors import Selector
from penstock.engines.base import Engine
from penstock.engines.local import LocalEngine
from penstock.integrations.sklearn._tables import features_table
from penstock.pipeline import Pipeline
from penstock.stages.base import Stage

Stages = Pipeline | Stage | Sequence[Stage | tuple[str, Stage]]


class _PenstockEstimator(BaseEstimator):
    """Stages with scikit-learn's manners.

    Parameters
    ----------
    stages : Pipeline, Stage, or sequence of Stage or (str, Stage)
    engine : Engine, optional
        Where it fits and scores; a local one unless given.
    """

    def __init__(self, stages: Stages, *, engine: Engine | None = None) -> None:
        self.stages = stages
        self.engine = engine

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with `deep` those of the stages too, as ``stage__parameter``, and the stages.

        Stages go by the names that they have in a `Pipeline`.
        """
        own = {name: getattr(self, name) for name in self._get_param_names()}
        if not deep:
            return own
        pipeline = self._pipeline()
        inner = {address.replace(".", "__", 1): value for address, value in pipeline.get_params().items()}
        return {**own, **dict(zip(pipeline.names, pipeline.stages, strict=True)), **inner}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by the names of `get_params`; ``stage__params__key`` for one value of a mapping.

        A stage may be replaced by another, or by None, which leaves it out.

        Raises
        ------
        ConfigError
            A ValueError too: a name is not known, or a stage does not take a value.
        """
        own = self._get_param_names()
        for name in own:
            if name in params:
                setattr(self, name, params[name])
        inner = {name: value for name, value in params.items() if name not in own}
        if inner:
            pipeline = self._pipeline()
            self.stages = pipeline.with_params({_address(name, pipeline): each for name, each in inner.items()})
        return self

    def __sklearn_clone__(self) -> Self:
        """Return an estimator that is not fitted, of the same stages, which never change, and the same engine."""
        unfitted = type(self)(**self.get_params(deep=False))
        for name in ("_metadata_request", "_sklearn_output_config"):
            if hasattr(self, name):
                setattr(unfitted, name, copy.deepcopy(getattr(self, name)))
        return unfitted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _pipeline(self) -> Pipeline:
        given = self.stages
        if isinstance(given, Pipeline):
            pipeline = given
        else:
            pipeline = Pipeline(given) if isinstance(given, Stage) else Pipeline(*given)
        taken = [name for name in pipeline.names if name in self._get_param_names()]
        if taken:
            raise ConfigError(
                f"a stage is called {taken[0]!r}, as a parameter of {type(self).__name__}", hint="Call it otherwise."
            )
        return pipeline

    def _engine(self) -> Engine:
        return LocalEngine() if self.engine is None else self.engine

    def _fit(self, pipeline: Pipeline, X: Any, roles: dict[str, pa.Array]) -> Self:
        """Fit to `X` and to columns that are no features, by their names."""
        table = features_table(self, X)
        self._columns = table.column_names
        for name, values in roles.items():
            if name in table.column_names:
                raise ConfigError(
                    f"X has a column {name!r}, and it is given as an array too",
                    hint="Leave the column out of X, or give the stage's label or weight another name.",
                    column=name,
                )
            table = table.append_column(name, values)
        without = _without_roles(pipeline, list(roles))
        self.model_ = without.fit(self._engine().from_arrow(table))
        return self

    def _writer(self, role: str) -> Stage | None:
        """Return the last stage that writes a column of this role, ``prediction`` or ``probability`` say."""
        stages = self.model_.stages if hasattr(self, "model_") else self._pipeline().stages
        return next((stage for stage in reversed(stages) if getattr(stage, role, None) is not None), None)

    def _output(self, X: Any, role: str) -> pa.ChunkedArray:
        """Return the column of this role that the model writes for `X`."""
        stage = self._writer(role)
        if stage is None:
            raise ConfigError(f"no stage of {type(self).__name__} writes a {role}")
        return self._transformed(X)[getattr(stage, role)]

    def _transformed(self, X: Any) -> pa.Table:
        """Return the rows of `X` as the model transforms them."""
        check_is_fitted(self)
        table = features_table(self, X, names=self._columns)
        return self.model_.transform(self._engine().from_arrow(table)).to_arrow()


def _address(name: str, pipeline: Pipeline) -> str:
    """Return what a `Pipeline` calls ``stage__parameter``; the names of stages may have underscores themselves."""
    for stage in sorted(pipeline.names, key=len, reverse=True):
        if name == stage:
            return name
        if name.startswith(f"{stage}__"):
            parameter, _, key = name[len(stage) + 2 :].partition("__")
            return f"{stage}.{parameter}.{key}" if key else f"{stage}.{parameter}"
    known = pipeline.get_params()
    hint = "Write stage__parameter, as get_params() does."
    near = did_you_mean(name, [each.replace(".", "__", 1) for each in known])
    raise ConfigError(f"the pipeline has no parameter {name!r}.{near} Stages: {', '.join(pipeline.names)}", hint=hint)


def _without_roles(pipeline: Pipeline, roles: list[str]) -> Pipeline:
    """Return a pipeline whose selectors choose among the features alone, as a user of arrays means them."""
    if not roles:
        return pipeline
    changes = {
        address: value - roles for address, value in pipeline.get_params().items() if isinstance(value, Selector)
    }
    return pipeline.with_params(changes)


def label_of(pipeline: Pipeline) -> str:
    """Return the one column that stages learn; ConfigError where there is none, or several."""
    labels = {getattr(stage, "label", None) for stage in pipeline.stages} - {None}
    if len(labels) != 1:
        several = f"several: {', '.join(sorted(map(str, labels)))}"
        raise ConfigError(
            f"y is the label of a pipeline that learns one, and this one has {several if labels else 'none'}",
            hint='End it with a stage that learns a label, st.XGBoostClassifier("y") say; names of labels are equal.',
        )
    return str(labels.pop())


def checked_labels(estimator: BaseEstimator, y: Any, dtype: Any = None) -> np.ndarray:
    """Return `y` as an array of one dimension, as scikit-learn checks it.

    Raises
    ------
    ValueError
        There is none; it has several columns; it has NaN or infinity.
    """
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    labels = column_or_1d(y, dtype=dtype, warn=True)
    assert_all_finite(labels, input_name="y")
    return labels


def supervised(pipeline: Pipeline, X: Any, y: np.ndarray, column: pa.Array, sample_weight: Any) -> Any:
    """Return the pipeline, its stages reading `sample_weight` if there is one, and columns for label and weight.

    Raises
    ------
    ConfigError
        There are weights, and no stage takes any.
    """
    check_consistent_length(X, y)
    roles = {label_of(pipeline): column}
    if sample_weight is None:
        return pipeline, roles
    weights = _check_sample_weight(sample_weight, y, dtype=np.float64)
    return _weighted(pipeline), {**roles, WEIGHT: pa.array(weights)}


WEIGHT = "sample_weight"


def _weighted(pipeline: Pipeline) -> Pipeline:
    taking = [
        name
        for name, stage in zip(pipeline.names, pipeline.stages, strict=True)
        if any(field.name == "weight" for field in dataclasses.fields(stage))  # type: ignore[arg-type]
    ]
    if not taking:
        raise ConfigError(
            f"sample_weight is given, but none of {', '.join(pipeline.names)} takes weights", hint="Leave it out."
        )
    return pipeline.with_params({f"{name}.weight": WEIGHT for name in taking})
