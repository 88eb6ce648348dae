"""What an estimator has learned as the state of a stage of this library, and that stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.core.errors import DataValueError
from penstock.stages.base import Fitted, Stage
from penstock.stages.training.cuml._estimators import CumlDescribed
from penstock.stages.training.sklearn._estimator_stage import EstimatorStage

State = dict[str, Any]


def state_of(stage: str, twin: Any, features: tuple[str, ...], learned: Fitted) -> State:
    """Return what the stage of a name would have learned, from the attributes of scikit-learn's fitted estimator.

    Parameters
    ----------
    stage : str
        A key of `STAGES`.
    twin : estimator
        As `as_sklearn` makes it, its attributes on the host; numbers become float64.
    features : tuple of str
    learned : mapping
        ``rows``, and of a classifier ``classes``, whose places `twin` has learned.

    Raises
    ------
    DataValueError
        A number is NaN or infinite.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> twin = Ridge(alpha=0.0).fit([[0.0], [1.0]], [1.0, 3.0])
    >>> state_of("LinearRegression", twin, ("x",), {"rows": 2})["coefficients"]
    [2.0]
    """
    learn, _ = STAGES[stage]
    return learn(_Twin(twin, features), learned)


@dataclass(frozen=True)
class _Twin:
    """A fitted estimator of scikit-learn, and the columns that it learned from."""

    estimator: Any
    features: tuple[str, ...]

    def numbers(self, name: str) -> np.ndarray:
        """Return an attribute as float64; DataValueError for NaN or infinity."""
        values = np.asarray(getattr(self.estimator, name), dtype=np.float64)
        if not np.isfinite(values).all():
            columns = ", ".join(map(repr, self.features[:10]))
            raise DataValueError(
                f"{name} of {type(self.estimator).__name__} is NaN or infinite after the fit to {columns}",
                hint="Scale the features, leave out those that others explain, or pass dtype='float64'.",
            )
        return values

    def table(self, name: str) -> pa.Table:
        """Return an attribute with a column for each feature."""
        return pa.table(dict(zip(self.features, self.numbers(name).T.copy(), strict=True)))


def _kmeans(twin: _Twin, learned: Fitted) -> State:
    centres = twin.numbers("cluster_centers_")
    return {
        "centres": twin.table("cluster_centers_"),
        "origin": centres.mean(axis=0).tolist(),
        "sizes": np.bincount(twin.estimator.labels_, minlength=len(centres)).tolist(),
        "cost": float(twin.numbers("inertia_")),
        "iterations": int(twin.estimator.n_iter_),
    }


def _projection(twin: _Twin, learned: Fitted, more: str) -> State:
    variances = ("explained_variance", "explained_variance_ratio")
    known = {name: twin.numbers(f"{name}_").tolist() for name in ("components", more)}
    return {**known, **{name: np.maximum(twin.numbers(f"{name}_"), 0.0).tolist() for name in variances}}


def _linear(twin: _Twin, learned: Fitted) -> State:
    return {
        "features": list(twin.features),
        "coefficients": twin.numbers("coef_").ravel().tolist(),
        "intercept": float(twin.numbers("intercept_").ravel()[0]),
        "constant": [],
        "summary": {"num_instances": learned["rows"]},
    }


def _logistic(twin: _Twin, learned: Fitted) -> State:
    iterations = int(np.max(twin.estimator.n_iter_))
    return {
        "classes": learned["classes"],
        "family": "binomial" if learned["classes"].num_rows == 2 else "multinomial",
        "coefficients": twin.table("coef_"),
        "intercepts": np.broadcast_to(twin.numbers("intercept_"), len(twin.estimator.coef_)).tolist(),
        "constant_features": [],
        "converged": iterations < twin.estimator.max_iter,
        "iterations": iterations,
        "objective_history": [],
    }


def stage_of(owner: EstimatorStage, traits: CumlDescribed, state: Fitted) -> Stage:
    """Return the bound stage of which `owner`, whose estimator has these traits, has learned the state."""
    _, build = STAGES[str(traits.stage)]
    return build(owner, traits, state)


def _label(owner: EstimatorStage) -> str:
    return owner.label if isinstance(owner.label, str) else owner.label[0]  # type: ignore[index]


def _kmeans_stage(owner: EstimatorStage, traits: CumlDescribed, state: Fitted) -> Stage:
    from penstock.stages.training.clustering.kmeans import KMeans

    return KMeans(owner.inputs(), k=max(state["centres"].num_rows, 2), prediction=owner.prediction)


def _pca_stage(owner: EstimatorStage, traits: CumlDescribed, state: Fitted) -> Stage:
    from penstock.stages.preprocessing.projection.pca import PCA

    return PCA(owner.inputs(), len(state["components"]), whiten=traits.whiten)


def _truncated_svd_stage(owner: EstimatorStage, traits: CumlDescribed, state: Fitted) -> Stage:
    from penstock.stages.preprocessing.projection.truncated_svd import TruncatedSVD

    return TruncatedSVD(owner.inputs(), len(state["components"]))


def _linear_stage(owner: EstimatorStage, traits: CumlDescribed, state: Fitted) -> Stage:
    from penstock.stages.training.linear.linear_regression import LinearRegression

    return LinearRegression(
        _label(owner), features=owner.inputs(), fit_intercept=traits.fit_intercept, prediction=owner.prediction
    )


def _logistic_stage(owner: EstimatorStage, traits: CumlDescribed, state: Fitted) -> Stage:
    from penstock.stages.training.linear.logistic_regression import LogisticRegression

    return LogisticRegression(
        _label(owner),
        features=owner.inputs(),
        fit_intercept=traits.fit_intercept,
        raw_prediction=owner.raw_prediction,
        probability=owner.probability,
        prediction=owner.prediction,
    )


_Learn = Callable[[_Twin, Fitted], State]
_Build = Callable[[EstimatorStage, CumlDescribed, Fitted], Stage]
STAGES: Mapping[str, tuple[_Learn, _Build]] = {
    "KMeans": (_kmeans, _kmeans_stage),
    "LinearRegression": (_linear, _linear_stage),
    "LogisticRegression": (_logistic, _logistic_stage),
    "PCA": (partial(_projection, more="mean"), _pca_stage),
    "TruncatedSVD": (partial(_projection, more="singular_values"), _truncated_svd_stage),
}
"""Readers of state from an estimator and builders of the stage, by the name of the stage."""
