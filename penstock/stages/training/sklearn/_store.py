"""Fitted estimators as skops files: no code in them, and the same bytes for the same estimator.

skops makes only objects of types that are trusted. It trusts the estimators of scikit-learn; here a few more types are,
that fitted estimators hold and that run no code of the file: those whose arrays are used as indices without being
checked, the nodes of trees, are looked at before they are used.
"""

from __future__ import annotations

import functools
import importlib.metadata
import io
import json
import threading
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.core.errors import ArtifactError, ArtifactVersionError, UnsupportedStepError, UntrustedArtifactError
from penstock.core.extras import importing
from penstock.stages.base import Blob, Fitted

KIND = "skops"
_SCHEMA = "schema.json"
_KERNELS = (
    "CompoundKernel", "ConstantKernel", "DotProduct", "ExpSineSquared", "Exponentiation", "Matern", "PairwiseKernel",
    "Product", "RBF", "RationalQuadratic", "Sum", "WhiteKernel",
)  # fmt: skip
TRUSTED = frozenset(
    {
        "functools.partial",  # of functions that are trusted themselves
        "numpy.dtype",
        "sklearn._loss.loss.HalfTweedieLoss",
        "sklearn._loss.loss.HalfTweedieLossIdentity",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.feature_selection._univariate_selection.chi2",
        "sklearn.feature_selection._univariate_selection.f_classif",
        "sklearn.feature_selection._univariate_selection.f_regression",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.tree._tree.Tree",
        "sklearn.utils._bunch.Bunch",
        "sklearn.utils.validation.check_array",
        *(f"sklearn.gaussian_process.kernels.{name}" for name in _KERNELS),
    }
)
"""Types that are made from a file besides those that skops trusts: by name, never by what the file says of itself."""

_lock = threading.Lock()


def store(estimator: Any, stage: str | None = None) -> Blob:
    """Return an estimator as a skops file; UnsupportedStepError where it cannot be one without running code."""
    skops = _skops()
    try:
        data = _canonical(skops.dumps(estimator))
    except skops.exceptions.UnsupportedTypeException as error:
        reason = str(error)
    else:
        found = _untrusted(data)
        if not found:
            return Blob(KIND, data)
        reason = f"made of {', '.join(found)}"
    raise UnsupportedStepError(
        f"{' '.join(repr(estimator).split()):.500} cannot be stored without running code: it is {reason}",
        hint="Use no functions or classes of your own, and of scikit-learn's neighbours algorithm='brute'.",
        stage=stage,
    )


def fitted_estimator(fitted: Fitted) -> Any:
    """Return the estimator that a stage learned; one from a file is read once in a process.

    Raises
    ------
    ArtifactVersionError
        It was fitted by another minor version of scikit-learn.
    UntrustedArtifactError
        It is made of types that are not trusted, or its trees lead out of themselves.
    ArtifactError
        skops cannot read it.
    """
    _check_version(fitted["sklearn"])
    with _lock:
        return _load(fitted["estimator"])


@functools.lru_cache(maxsize=8)
def _load(blob: Blob) -> Any:
    from sklearn.exceptions import InconsistentVersionWarning

    skops = _skops()
    found = _untrusted(blob.data)
    if found:
        raise UntrustedArtifactError(
            f"the estimator is made of types that are not trusted: {', '.join(found)}",
            hint="Only what this library saved is loaded; these could run code.",
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)  # of patches; a minor version is refused
            estimator = skops.loads(blob.data, trusted=sorted(TRUSTED))
    except Exception as error:  # whatever the classes that it is made of stumble over
        raise ArtifactError(f"skops cannot read the estimator: {type(error).__name__}: {error}") from error
    check_trees(estimator)
    return estimator


def _skops() -> Any:
    with importing("skops", "sklearn"):
        import skops.io.exceptions
    return skops.io


def _untrusted(data: bytes) -> list[str]:
    try:
        return sorted(set(_skops().get_untrusted_types(data=data)) - TRUSTED)
    except Exception as error:  # whatever a damaged description of objects leads to
        raise ArtifactError(f"skops cannot read the estimator: {type(error).__name__}: {error}") from error


def installed() -> str:
    """Return the version of scikit-learn."""
    return importlib.metadata.version("scikit-learn")


def _check_version(fitted_by: str) -> None:
    """Refuse another minor version: what an estimator keeps, and what it makes of it, is scikit-learn's own affair."""
    if fitted_by.split(".")[:2] != installed().split(".")[:2]:
        minor = ".".join(fitted_by.split(".")[:2])
        raise ArtifactVersionError(
            f"the estimator was fitted by scikit-learn {fitted_by}, and this is {installed()}",
            hint=f"pip install 'scikit-learn=={minor}.*', or fit it again: versions do not promise equal predictions.",
        )


def _canonical(data: bytes) -> bytes:
    """Return a skops file with places in memory, times and random names replaced by numbers in order."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        numbers: dict[str | int, str | int] = {}
        schema = _renumbered(json.loads(archive.read(_SCHEMA)), numbers, set(archive.namelist()))
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w") as made:
            for old, new in numbers.items():
                if isinstance(old, str):
                    made.writestr(zipfile.ZipInfo(str(new)), archive.read(old))
            made.writestr(zipfile.ZipInfo(_SCHEMA), json.dumps(schema, separators=(",", ":")))
    return sink.getvalue()


def _renumbered(node: Any, numbers: dict[str | int, str | int], files: set[str]) -> Any:
    if isinstance(node, list):
        return [_renumbered(item, numbers, files) for item in node]
    if not isinstance(node, dict):
        return node
    # Which equal numbers and texts are one object differs from process to process, and means nothing.
    plain = node.get("__loader__") in ("JsonNode", "TypeNode")
    made = {}
    for key, value in node.items():
        if key == "__id__" and isinstance(value, int):
            if not plain:
                made[key] = numbers.setdefault(value, len(numbers))
        elif key == "file" and isinstance(value, str) and value in files:
            made[key] = numbers.setdefault(value, f"{len(numbers)}.{value.rpartition('.')[2]}")
        else:
            made[key] = _renumbered(value, numbers, files)
    return made


def check_trees(estimator: Any) -> None:
    """Refuse an estimator whose trees, or those of the estimators in it, would read outside of an array.

    Raises
    ------
    UntrustedArtifactError
        A child does not come after its parent, a feature is not among those of the estimator, or trees that are grown
        together differ in what they expect.
    """
    try:
        for part in _parts(estimator, set()):
            _check(part)
    except (ValueError, AttributeError, IndexError, KeyError, TypeError) as error:
        raise UntrustedArtifactError(
            f"the trees of the estimator could crash scikit-learn: {error}",
            hint="Only what this library saved is loaded; fit and save the model again.",
        ) from error


def _parts(value: Any, seen: set[int]) -> Iterator[Any]:
    """Yield an object and all that it is made of, each once."""
    if id(value) in seen or isinstance(value, str | bytes | int | float | complex | None):
        return
    seen.add(id(value))
    yield value
    if isinstance(value, dict):
        inner = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set):
        inner = list(value)
    elif isinstance(value, np.ndarray):
        inner = value.ravel().tolist() if value.dtype == object else []
    else:
        inner = list(getattr(value, "__dict__", {}).values())
    for item in inner:
        yield from _parts(item, seen)


def _check(part: Any) -> None:
    from sklearn.ensemble import IsolationForest
    from sklearn.ensemble._forest import BaseForest
    from sklearn.ensemble._gb import BaseGradientBoosting
    from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import BaseHistGradientBoosting
    from sklearn.tree import BaseDecisionTree
    from sklearn.tree._tree import Tree

    if isinstance(part, Tree):
        _check_tree(part)
    elif isinstance(part, BaseDecisionTree) and hasattr(part, "tree_"):
        _agree("features of a tree", part.tree_.n_features, part.n_features_in_)
    elif isinstance(part, BaseForest | BaseGradientBoosting) and hasattr(part, "estimators_"):
        for member in np.ravel(part.estimators_):
            _agree("features of a tree", member.n_features_in_, part.n_features_in_)
        if isinstance(part, BaseGradientBoosting):
            _check_width(part)
    elif isinstance(part, IsolationForest) and hasattr(part, "estimators_"):
        for member, features in zip(part.estimators_, part.estimators_features_, strict=True):
            _agree("features of a tree", member.n_features_in_, len(features))
            _agree("features drawn", len(features), part._max_features)
    elif isinstance(part, BaseHistGradientBoosting) and hasattr(part, "_predictors"):
        for predictor in np.ravel(part._predictors):
            _check_predictor(predictor, part)


def _need(holds: bool, fault: str) -> None:
    if not holds:
        raise ValueError(fault)


def _agree(what: str, found: int, expected: int) -> None:
    _need(found == expected, f"{what} are {found}, expected {expected}")


def _check_tree(tree: Any) -> None:
    _agree("nodes", tree.node_count, tree.capacity)  # before any of them is read
    _need(tree.node_count > 0, "a tree has no nodes")
    inside = tree.children_left != -1
    _check_nodes(inside, tree.children_left, tree.children_right, tree.feature, tree.n_features)


def _check_predictor(predictor: Any, owner: Any) -> None:
    nodes = predictor.nodes
    _need(len(nodes) > 0, "a tree has no nodes")
    inside = nodes["is_leaf"] == 0
    _check_nodes(inside, nodes["left"], nodes["right"], nodes["feature_idx"], owner.n_features_in_)
    split = inside & (nodes["is_categorical"] != 0)
    if split.any():
        categorical = np.asarray(owner._bin_mapper.is_categorical_, dtype=bool)
        _agree("features of the bins", len(categorical), owner.n_features_in_)
        _need(bool(categorical[nodes["feature_idx"][split]].all()), "a split is by categories of a number")
        most = len(predictor.raw_left_cat_bitsets)
        _need(bool((nodes["bitset_idx"][split] < most).all()), "a split is by categories that are not there")


def _check_nodes(inside: np.ndarray, left: np.ndarray, right: np.ndarray, feature: np.ndarray, features: int) -> None:
    """Demand that children come after their parent, as they do where trees are grown: so every path has an end."""
    place = np.arange(len(inside))[inside]
    for child in (left[inside].astype(np.int64), right[inside].astype(np.int64)):
        _need(bool(((child > place) & (child < len(inside))).all()), "a child does not come after its parent")
    known = (feature[inside] >= 0) & (feature[inside] < features)
    _need(bool(known.all()), f"a feature is not among the {features}")


def _check_width(boosting: Any) -> None:
    """Demand one tree a round for each number that is boosted: scikit-learn adds them up where it finds them."""
    start = boosting._raw_predict_init(np.zeros((1, boosting.n_features_in_)))
    _agree("trees of a round", boosting.estimators_.shape[1], start.shape[1])
