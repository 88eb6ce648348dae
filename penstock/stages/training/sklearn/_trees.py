"""The trees of estimators that come from a file, node by node: scikit-learn follows their indices without a check."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.core.errors import UntrustedArtifactError


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
