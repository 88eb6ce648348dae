"""An unfitted estimator of cuML, told in plain values; nothing here touches CUDA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.core.errors import ConfigError
from penstock.core.extras import importing, require_module
from penstock.stages.training.cuml._estimators import Entry, entry_of
from penstock.stages.training.sklearn._kinds import Described


@dataclass(frozen=True, repr=False)
class CumlDescribed(Described):
    """What a stage knows of its estimator of cuML, also when the model is loaded where cuML is not.

    Attributes
    ----------
    name : str
        Below ``cuml``.
    stage : str or None
        The stage that it becomes; None where scikit-learn's estimator is kept.
    two_classes : bool
        It is not kept where it has learned more than two.
    fit_intercept, whiten : bool
        Its parameters of these names, which that stage has too.
    """

    name: str
    stage: str | None
    two_classes: bool
    fit_intercept: bool
    whiten: bool


def own(estimator: Any, stage: str) -> Any:
    """Return an estimator of cuML: as it is, or the one that a proxy of `cuml.accel` would fit.

    Raises
    ------
    MissingExtraError
        cuML is not installed.
    ConfigError
        The proxy would fit scikit-learn's estimator, on the CPU.
    """
    with importing("cuML", "gpu", stage):
        require_module("cuml")
    behind = getattr(type(estimator), "_gpu_class", None)
    if behind is None or behind.__module__.partition(".")[0] != "cuml":
        return estimator
    try:
        return behind(**behind._params_from_cpu(estimator._cpu))
    except ValueError as error:
        problem = f"{estimator!r:.200} is not fitted on the GPU by cuml.accel: {error}"
        hint = "Change the parameter that it names, or use SklearnEstimator, which fits on the CPU."
        raise ConfigError(problem, hint=hint, stage=stage) from error


def unfitted(estimator: Any, stage: str) -> Any:
    """Return a copy of an estimator that can be kept, without what it has learned.

    Raises
    ------
    ConfigError
        It is none of cuML's, or what it learns cannot be kept.
    """
    entry_of(estimator, stage)
    from sklearn.base import clone

    return clone(estimator)


def describe(estimator: Any, stage: str) -> CumlDescribed:
    """Return what an unfitted estimator can do, by the table."""
    return describe_as(
        entry_of(estimator, stage),
        " ".join(repr(estimator).split()),
        fit_intercept=bool(getattr(estimator, "fit_intercept", True)),
        whiten=bool(getattr(estimator, "whiten", False)),
    )


def describe_as(entry: Entry, text: str, *, fit_intercept: bool = True, whiten: bool = False) -> CumlDescribed:
    """Return what the table says of an estimator that prints itself as `text`, and its parameters that a stage has too.

    Examples
    --------
    >>> from penstock.stages.training.cuml._estimators import entries
    >>> told = describe_as(entries()["PCA"], "PCA(n_components=2)", whiten=True)
    >>> told, told.methods, told.stage, told.whiten
    (PCA(n_components=2), ('transform',), 'PCA', True)
    """
    return CumlDescribed(
        text=text,
        kind=entry.kind if entry.kind in ("classifier", "regressor") else "other",
        methods=entry.methods,
        allow_nan=False,
        needs_label=entry.labels != "none",
        multi_output=entry.labels == "several",
        weight_argument=entry.weights,
        name=entry.name,
        stage=entry.stage,
        two_classes=entry.two_classes,
        fit_intercept=fit_intercept,
        whiten=whiten,
    )


def check_twin(estimator: Any, stage: str) -> None:
    """Raise an error unless scikit-learn's estimator, as which it is to be kept, can be made and stored.

    Raises
    ------
    MissingExtraError
        skops is not installed.
    ConfigError
        scikit-learn has no such parameters.
    UnsupportedStepError
        The parameters hold code, a function say.
    """
    from penstock.stages.training.sklearn._store import store

    try:
        twin = estimator._get_cpu_class()(**estimator._params_to_cpu())
    except ValueError as error:
        problem = f"{estimator!r:.200} has no twin in scikit-learn, as which it would be kept: {error}"
        raise ConfigError(problem, hint="Change the parameter that it names.", stage=stage) from error
    store(twin, stage)
