"""What a scikit-learn or cuML estimator can do, told in plain values before it is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from penstock.core.errors import ConfigError
from penstock.core.extras import importing, require_module

METHODS = ("predict_proba", "decision_function", "predict", "transform")
WEIGHT = "sample_weight"
_ON_OWN_ROWS = (
    "It has no method that scores. ps.fit_predict adds the labels, and ps.fit_transform the vectors, that such an"
    " estimator gives to the rows that it is fitted on."
)


@dataclass(frozen=True)
class Described:
    """What a stage knows of its estimator: all that stays of the unfitted one when a model is saved.

    Attributes
    ----------
    text : str
        As scikit-learn prints it: the class, and the parameters that are not the default.
    kind : str
        "classifier", "regressor", or "other".
    methods : tuple of str
        Which of `METHODS` it has.
    allow_nan : bool
        It takes missing values.
    needs_label : bool
    multi_output : bool
        It learns several labels at once.
    weight_argument : str or None
        The name under which `fit` takes weights; None where it takes none.
    """

    text: str
    kind: str
    methods: tuple[str, ...]
    allow_nan: bool
    needs_label: bool
    multi_output: bool
    weight_argument: str | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "methods", tuple(self.methods))

    def __repr__(self) -> str:
        return self.text

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self) | {"methods": list(self.methods)}

    @property
    def default_method(self) -> str:
        """What is called where none is asked for: the most telling, classes without scores being the least."""
        wanted = METHODS if self.kind == "classifier" else ("predict", "transform")
        return next((name for name in wanted if name in self.methods), "predict")


def unfitted(estimator: Any) -> Any:
    """Return a copy of an estimator without what it has learned.

    Raises
    ------
    MissingExtraError
        scikit-learn is not installed, or skops, without which nothing that is fitted could be stored.
    ConfigError
        It is no estimator: a class, say.
    """
    with importing("scikit-learn and skops", "sklearn"):
        import sklearn.base  # noqa: F401

        require_module("skops")  # to import it takes seconds: it imports PyTorch where that is installed
    return copied(estimator)


def copied(estimator: Any) -> Any:
    """Return a copy of an estimator as `unfitted` does, also of one that is not to be stored: without skops."""
    with importing("scikit-learn", "sklearn"):
        from sklearn.base import clone
    try:
        return clone(estimator)
    except (TypeError, RuntimeError) as error:
        raise ConfigError(
            f"estimator is {estimator!r:.200}, expected a scikit-learn or cuML estimator: {error}",
            hint="Pass an instance, as LogisticRegression(C=2.0).",
        ) from error


def check_default(told: Described, method: str, stage: str) -> None:
    """Raise ConfigError where transform would be called by default of an estimator that is there to predict."""
    if method == "auto" and told.kind != "other" and told.default_method == "transform":
        raise ConfigError(
            f"{told.text:.200} has no predict before it is fitted",
            hint='Pass method="transform" for what it transforms.',
            stage=stage,
        )


def check_use(told: Described, method: str, labels: Sequence[str], *, weighted: bool, stage: str) -> None:
    """Raise ConfigError for what an estimator is asked for and cannot do."""
    name, asked = f"{told.text:.200}", told.default_method if method == "auto" else method
    problem = hint = None
    if asked not in told.methods:
        problem = f"{name} has no {asked}, to score new rows with"
        hint = f"It has: {', '.join(told.methods)}." if told.methods else _ON_OWN_ROWS
    elif told.needs_label and not labels:
        problem, hint = f"{name} learns from a label, and none is given", "Pass label='...'."
    elif len(labels) > 1 and not told.multi_output:
        problem, hint = f"{name} learns one label, and {len(labels)} are given", "Make a stage for each."
    elif weighted and told.weight_argument is None:
        problem, hint = f"fit of {name} takes no {WEIGHT}", "Leave weight out."
    if problem is not None:
        raise ConfigError(problem, hint=hint, stage=stage)


def is_cuml(estimator: Any) -> bool:
    """Return whether an estimator is one of cuML's own, which fit on a GPU."""
    return type(estimator).__module__.partition(".")[0] == "cuml"


def to_fit(estimator: Any, *, on_gpu: bool) -> Any:
    """Return a copy of an estimator, to be fitted.

    Raises
    ------
    ConfigError
        It is that of a loaded model, of which only the description is known; or it is one of cuML's, without a GPU.
    """
    if isinstance(estimator, Described):
        raise ConfigError(
            f"{estimator.text:.200} is that of a loaded model, of which only this is known",
            hint="Make the stage anew; sklearn.base.clone(stage.fitted_estimator(fitted)) is its estimator.",
        )
    if is_cuml(estimator) and not on_gpu:
        raise ConfigError("an estimator of cuML needs a GPU", hint="Take scikit-learn's own, or device='gpu'.")
    return unfitted(estimator)


def on_cpu(estimator: Any) -> Any:
    """Return the estimator, or scikit-learn's counterpart of one of cuML's, fitted where that is.

    Raises
    ------
    ConfigError
        There is none in cuML.
    """
    if not is_cuml(estimator):
        return estimator
    if not hasattr(estimator, "as_sklearn"):
        raise ConfigError(
            f"{type(estimator).__name__} of cuML has no as_sklearn(), so what it learns cannot be stored",
            hint="Use scikit-learn's own estimator, or a cuML estimator that has it.",
        )
    return estimator.as_sklearn() if _is_fitted(estimator) else _unfitted_counterpart(estimator)


def _is_fitted(estimator: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def _unfitted_counterpart(estimator: Any) -> Any:
    """Return scikit-learn's counterpart, which `as_sklearn` makes by CUDA, that a driver may not have or not want."""
    return estimator._get_cpu_class()(**estimator._params_to_cpu())


def kept(estimator: Any) -> Any:
    """Return what of an estimator is stored: of a search the best that it found, or before the fit, what it tunes."""
    from sklearn.model_selection._search import BaseSearchCV

    estimator = on_cpu(estimator)
    if not isinstance(estimator, BaseSearchCV):
        return estimator
    return getattr(estimator, "best_estimator_", estimator.estimator)


def describe(estimator: Any) -> Described:
    """Return what an unfitted estimator can do.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> found = describe(SVC(C=2.0))
    >>> found, found.kind, found.methods, found.weight_argument
    (SVC(C=2.0), 'classifier', ('decision_function', 'predict'), 'sample_weight')
    """
    from sklearn.base import is_classifier, is_regressor
    from sklearn.utils import get_tags

    estimator = on_cpu(estimator)
    targets = get_tags(estimator).target_tags
    kind = "classifier" if is_classifier(estimator) else "regressor" if is_regressor(estimator) else "other"
    return Described(
        text=" ".join(estimator.__repr__(N_CHAR_MAX=10**6).split()),
        kind=kind,
        methods=_methods(estimator),
        allow_nan=_takes_nan(estimator),
        needs_label=bool(targets.required) or kind != "other",
        multi_output=kind == "regressor" and bool(targets.multi_output),
        weight_argument=_weight_argument(estimator),
    )


def _methods(estimator: Any) -> tuple[str, ...]:
    """Return which of `METHODS` an estimator has once it is fitted.

    A stack shows no method that predicts until it has its final estimator, which it makes in `fit` where none is given.
    """
    from sklearn.base import clone
    from sklearn.ensemble import StackingClassifier, StackingRegressor
    from sklearn.linear_model import LogisticRegression, RidgeCV

    complete = clone(estimator)
    for part in (complete, *complete.get_params().values()):
        if isinstance(part, StackingClassifier | StackingRegressor) and part.final_estimator is None:
            part.final_estimator = LogisticRegression() if isinstance(part, StackingClassifier) else RidgeCV()
    return tuple(name for name in METHODS if hasattr(complete, name))


def _takes_nan(estimator: Any) -> bool:
    """Return whether missing values may be passed: of a pipeline its first step decides, of a search what it tunes."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    if isinstance(estimator, Pipeline):
        first = next((step for _, step in estimator.steps if step not in (None, "passthrough")), None)
        return first is not None and _takes_nan(first)
    inner = getattr(estimator, "estimator", None)
    return bool(get_tags(estimator).input_tags.allow_nan) or (hasattr(inner, "fit") and _takes_nan(inner))


def _weight_argument(estimator: Any) -> str | None:
    """Return the argument of `fit` for weights; those of a pipeline go to its last step."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = _weight_argument(last) if hasattr(last, "fit") else None
        return None if inner is None else f"{name}__{inner}"
    return WEIGHT if has_fit_parameter(estimator, WEIGHT) else None
