"""A copy of an estimator of scikit-learn or cuML that has a method for the rows it is fitted on."""

from __future__ import annotations

from typing import Any

from penstock.core.errors import ConfigError
from penstock.stages.training.cuml._describe import describe_as
from penstock.stages.training.cuml._estimators import known_entry
from penstock.stages.training.sklearn._kinds import METHODS, Described, copied, describe, is_cuml

FIT_METHODS = {"fit_predict": "labels", "fit_transform": "embeds"}
"""The methods, and what each does to the rows that an estimator is fitted on."""


def copy_of(estimator: Any, method: str) -> tuple[Any, Described]:
    """Return an unfitted copy of an estimator that has `method`, and what it can do.

    Raises
    ------
    MissingExtraError
        scikit-learn is not installed.
    ConfigError
        It is no estimator, a class say; it has no such method; or it learns from a label.

    Examples
    --------
    >>> from sklearn.cluster import DBSCAN
    >>> copy_of(DBSCAN(eps=2.0), "fit_predict")[1]
    DBSCAN(eps=2.0)
    """
    copy = copied(estimator)
    described = _of_cuml(copy, method) if is_cuml(copy) else describe(copy)
    _check(copy, described, method)
    return copy, described


def _of_cuml(estimator: Any, stage: str) -> Described:
    return describe_as(known_entry(estimator, stage), " ".join(repr(estimator).split()))


def _check(estimator: Any, described: Described, method: str) -> None:
    name, stage = f"{described.text:.200}", "CumlEstimator" if is_cuml(estimator) else "SklearnEstimator"
    scores = f"{stage} scores with it the rows that it is fitted on, and new ones."
    if described.needs_label:
        raise ConfigError(f"{name} learns from a label, and {method} has none", hint=scores, stage=method)
    has = [each for each in (*METHODS, *FIT_METHODS) if hasattr(estimator, each)]
    if method in has:
        return
    hints = [f"It has: {', '.join(has)}." if has else "It has no method that says something of rows."]
    hints += [scores] * bool(described.methods) + [f"ps.{each} calls that." for each in FIT_METHODS if each in has]
    raise ConfigError(
        f"{name} has no {method}, which {FIT_METHODS[method]} the rows that it is fitted on",
        hint=" ".join(hints),
        stage=method,
    )
