"""What an XGBoost model file must be before XGBoost's own loader, which crashes on some that are not, may see it.

The rules are those that its C++ code relies on without checking: every index in range, every tree a tree, arrays of
one length, output groups that exist. They say nothing about whether the numbers are the ones that were trained.

Files are Universal Binary JSON (ubjson.org, draft 12), of which the part that XGBoost writes is read, and nothing else.
XGBoost counts every array, closes every object with ``}``, and gives each length as ``L`` and eight bytes. What is read
here is read the same way by XGBoost's own parser, which trusts it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.core.checks import exact_keys, need, whole
from penstock.core.errors import ArtifactError, UntrustedArtifactError
from penstock.frames import sparse

_LEARNER = {"attributes", "feature_names", "feature_types", "gradient_booster", "learner_model_param", "objective"}
_MODEL = {"gbtree_model_param", "iteration_indptr", "tree_info", "trees"}
_FEATURE_TYPES = {"float", "int", "i", "q", "c"}
_MAX_GROUPS = 1 << 16


def read_booster(data: bytes, path: str, *, trusted: bool) -> list[str]:
    """Return the feature names of an XGBoost model file, which is checked unless it is `trusted`.

    Raises
    ------
    UntrustedArtifactError
        The file is not a tree model (``gbtree`` or ``dart``, one output a tree) that is safe to load.
    """
    try:
        document = read_ubjson(data)
        if not trusted:
            _check_document(document)
        return [str(name) for name in document["learner"]["feature_names"]]
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        reason = f"{error}" if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise UntrustedArtifactError(
            f"{path} is not an XGBoost model that can be checked: {reason}",
            hint="Save it again with this library, or pass the digest that save printed as expect=.",
            path=path,
        ) from error


def check_features(names: Sequence[str], columns: Sequence[str], path: str, stage: str) -> None:
    """Raise ArtifactError unless a booster was trained on exactly these columns, in this order.

    Features have no names where the columns of a sparse vector are among them.

    Examples
    --------
    >>> check_features(["a", "b"], ("a", "b"), "booster/0.0.ubj", "XGBClassifier")
    """
    if list(names) == list(columns) or (not names and sparse.among(columns)):
        return
    pairs = enumerate(zip(names, columns, strict=False))
    shorter = min(len(names), len(columns))
    place = next((index for index, (name, column) in pairs if name != column), shorter)
    raise ArtifactError(
        f"{path} was trained on {len(names)} features, and {stage} passes {len(columns)}; the first difference is at "
        f"position {place}: {_at(names, place)} in the file, {_at(columns, place)} in the pipeline",
        path=path,
        stage=stage,
    )


def _at(names: Sequence[str], place: int) -> str:
    return repr(names[place]) if place < len(names) else "none"


def _check_document(document: Any) -> None:
    exact_keys(document, {"learner", "version"}, "the document")
    version = document["version"]
    need(len(version) == 3 and all(type(part) is int and part >= 0 for part in version), f"version is {version!r}")
    learner = document["learner"]
    exact_keys(learner, _LEARNER, "learner")
    need(all(isinstance(value, str) for value in learner["attributes"].values()), "an attribute is not text")
    features, groups = _check_parameters(learner)
    _check_names(learner, features)
    _check_objective(learner)
    trees = _check_booster(learner["gradient_booster"], groups)
    for tree in trees:
        check_tree(tree, features)


def _check_parameters(learner: Mapping[str, Any]) -> tuple[int, int]:
    """Return the number of features and of outputs."""
    parameters = learner["learner_model_param"]
    features, classes, targets = (whole(parameters, name) for name in ("num_feature", "num_class", "num_target"))
    groups = max(1, classes, targets)
    need(groups <= _MAX_GROUPS, f"{groups} outputs")
    scores = [float(part) for part in parameters["base_score"].strip("[]").split(",")]
    need(len(scores) in (1, groups) and all(map(math.isfinite, scores)), f"base_score is {parameters['base_score']!r}")
    return features, groups


def _check_names(learner: Mapping[str, Any], features: int) -> None:
    names, kinds = learner["feature_names"], learner["feature_types"]
    need(isinstance(names, list) and all(isinstance(name, str) for name in names), "feature_names are not texts")
    need(len(names) in (0, features), f"{len(names)} feature names for {features} features")
    need(isinstance(kinds, list) and len(kinds) in (0, features), f"{len(kinds)} feature types for {features} features")
    need(set(kinds) <= _FEATURE_TYPES, "a feature type is not known")


def _check_objective(learner: Mapping[str, Any]) -> None:
    objective = learner["objective"]
    need(isinstance(objective["name"], str), "the objective has no name")
    for settings in objective.values():
        if isinstance(settings, dict) and "num_class" in settings:
            classes = whole(settings, "num_class")
            need(classes == whole(learner["learner_model_param"], "num_class") and classes > 0, f"{classes} classes")


def _check_booster(booster: Mapping[str, Any], groups: int) -> list[Any]:
    """Return the trees of a ``gbtree`` or ``dart`` booster."""
    if booster["name"] == "dart":
        exact_keys(booster, {"gbtree", "name", "weight_drop"}, "dart")
        trees = _check_booster(booster["gbtree"], groups)
        _check_weights(booster, trees)
        return trees
    need(booster["name"] == "gbtree", f"booster {booster['name']!r} is neither gbtree nor dart")
    exact_keys(booster, {"model", "name"}, "gradient_booster")
    model = booster["model"]
    # Since XGBoost 3.4 a gbtree has the weights of dropped trees that a dart alone had before.
    exact_keys(model, _MODEL, "model", frozenset({"cats", "weight_drop"}))
    need(not any(len(part) for part in model.get("cats", {}).values()), "it recodes categories by itself")
    trees = _check_model(model, groups)
    if "weight_drop" in model:
        _check_weights(model, trees)
    return trees


def _check_weights(weighted: Mapping[str, Any], trees: Sequence[Any]) -> None:
    need(len(weighted["weight_drop"]) == len(trees), "weight_drop is not one number a tree")


def _check_model(model: Mapping[str, Any], groups: int) -> list[Any]:
    trees, info, starts = model["trees"], model["tree_info"], np.asarray(model["iteration_indptr"])
    parameters = model["gbtree_model_param"]
    need(whole(parameters, "num_parallel_tree") >= 1, "num_parallel_tree is 0")
    need(isinstance(trees, list) and len(trees) == len(info) == whole(parameters, "num_trees"), "num_trees is wrong")
    need(all(type(group) is int and 0 <= group < groups for group in info), "a tree of an output that does not exist")
    need(starts.dtype.kind == "i" and len(starts) and starts[0] == 0, "iteration_indptr does not begin with 0")
    need(starts[-1] == len(trees) and (np.diff(starts) >= 0).all(), "iteration_indptr does not lead to the last tree")
    need([tree["id"] for tree in trees] == list(range(len(trees))), "trees are not numbered in order")
    return list(trees)


_PER_NODE = {
    "base_weights": ">f4", "default_left": ">u1", "left_children": ">i4", "loss_changes": ">f4", "parents": ">i4",
    "right_children": ">i4", "split_conditions": ">f4", "split_indices": ">i4", "split_type": ">u1",
    "sum_hessian": ">f4",
}  # fmt: skip
_PER_SPLIT = {"categories_nodes": ">i4", "categories_segments": ">i8", "categories_sizes": ">i8"}
_CATEGORIES = {"categories": ">i4"}
_NO_NODE = -1
_NO_PARENT = _DELETED = 2**31 - 1
_MAX_CATEGORY = 2**24
_MAX_BITS = 2**31
# XGBoost walks some trees by recursion; no trained tree comes near this.
_MAX_DEPTH = 4096


def check_tree(tree: Mapping[str, Any], features: int) -> None:
    """Raise ValueError unless a parsed tree is one that XGBoost can walk without leaving its arrays.

    Parameters
    ----------
    tree : mapping
        An element of ``trees``, as ``read_ubjson`` gives it.
    features : int
        Features of the model.
    """
    exact_keys(tree, {*_PER_NODE, *_PER_SPLIT, *_CATEGORIES, "id", "tree_param"}, "a tree")
    parameters = tree["tree_param"]
    nodes = whole(parameters, "num_nodes")
    need(nodes >= 1, "a tree has no nodes")
    need(whole(parameters, "num_feature") == features, "a tree has other features than the model")
    need(whole(parameters, "size_leaf_vector") <= 1, "a tree gives several outputs")
    _check_arrays(tree, _PER_NODE, nodes)
    _check_arrays(tree, _PER_SPLIT, len(tree["categories_nodes"]))
    _check_arrays(tree, _CATEGORIES, len(tree["categories"]))
    deleted = (tree["split_indices"] == _DELETED) & (tree["default_left"] == 1)
    need(deleted.sum() == whole(parameters, "num_deleted"), "num_deleted is not how many nodes are deleted")
    _check_nodes(tree, nodes, ~deleted, features)
    need(_walk(tree) == nodes - deleted.sum(), "a node cannot be reached from the root")
    _check_categories(tree, nodes)


def _check_arrays(tree: Mapping[str, Any], kinds: Mapping[str, str], length: int) -> None:
    for name, kind in kinds.items():
        array = tree[name]
        need(isinstance(array, np.ndarray) and array.dtype == np.dtype(kind), f"{name} is not an array of {kind}")
        need(len(array) == length, f"{name} has {len(array)} values, expected {length}")


def _check_nodes(tree: Mapping[str, Any], nodes: int, alive: np.ndarray, features: int) -> None:
    left, right, parents = tree["left_children"], tree["right_children"], tree["parents"]
    leaf = left == _NO_NODE
    need((leaf == (right == _NO_NODE)).all(), "a node has one child")
    for children in (left, right):
        need(((children > 0) & (children < nodes) | leaf).all(), "a child does not exist")
    need((leaf | (left != right)).all(), "a node has one child twice")
    need(parents[0] == _NO_PARENT and alive[0], "the root has a parent, or is deleted")
    need(((parents[1:] >= 0) & (parents[1:] < nodes)).all(), "a parent does not exist")
    split = tree["split_indices"][alive]
    need(((split >= 0) & (split < max(features, 1))).all(), "a split on a feature that does not exist")
    need((tree["default_left"] <= 1).all() and (tree["split_type"] <= 1).all(), "a flag is neither 0 nor 1")


def _walk(tree: Mapping[str, Any]) -> int:
    """Return how many nodes the root leads to; each knows its parent, so none is met twice and the walk ends."""
    left, right, parents = tree["left_children"], tree["right_children"], tree["parents"]
    level, met, depth = np.zeros(1, np.int64), 1, 0
    while len(level := level[left[level] != _NO_NODE]):
        for children in (left[level], right[level]):
            need((parents[children] == level).all(), "a node is not the child of its parent")
        level = np.concatenate([left[level], right[level]])
        met, depth = met + len(level), depth + 1
        need(depth <= _MAX_DEPTH, f"a tree is deeper than {_MAX_DEPTH}")
    return met


def _check_categories(tree: Mapping[str, Any], nodes: int) -> None:
    places, begins, sizes = (tree[name].astype(np.int64) for name in _PER_SPLIT)
    categories = tree["categories"]
    if not len(places):
        need(not len(categories), "categories belong to no node")
        return
    need((np.diff(places) > 0).all() and places[0] >= 0 and places[-1] < nodes, "categorical nodes are out of order")
    need((tree["split_type"][places] == 1).all(), "categories belong to a numerical split")
    need((sizes > 0).all() and (sizes <= len(categories)).all(), "a categorical split of no, or too many, categories")
    need(begins[0] == 0 and (begins[1:] == np.cumsum(sizes)[:-1]).all(), "categories do not lie one after the other")
    need(sizes.sum() == len(categories), "categories belong to no node")
    need(((categories >= 0) & (categories < _MAX_CATEGORY)).all(), "a category is out of range")
    need(np.maximum.reduceat(categories, begins).astype(np.int64).sum() < _MAX_BITS, "categories take too much memory")


_DTYPES = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
_MAX_NESTING = 16


def read_ubjson(data: bytes) -> Any:
    r"""Return the document: dicts, strings, numbers, lists, and NumPy arrays (big-endian) for typed arrays.

    Raises
    ------
    ValueError
        The bytes are not one document of this form, end to end.

    Examples
    --------
    >>> read_ubjson(b"{" + b"L" + (1).to_bytes(8) + b"a" + b"i\x05" + b"}")
    {'a': 5}
    """
    reader = _Reader(data)
    document = reader.value(0)
    if reader.at != len(data):
        raise ValueError(f"{len(data) - reader.at} bytes follow the document")
    return document


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def value(self, depth: int) -> Any:
        if depth == _MAX_NESTING:
            raise ValueError(f"nested deeper than {_MAX_NESTING} levels")
        marker = self._take(1)
        if marker == b"{":
            return self._object(depth)
        if marker == b"[":
            return self._array(depth)
        if marker == b"S":
            return self._text()
        return self._numbers(marker, 1)[0].item()

    def _object(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while self._peek() != b"}":
            key = self._text()
            if key in result:
                raise ValueError(f"key {key!r} appears twice in one object")
            result[key] = self.value(depth + 1)
        self._take(1)
        return result

    def _array(self, depth: int) -> Any:
        marker = self._take(1)
        if marker == b"$":
            marker = self._take(1)
            self._expect(b"#")
            return self._numbers(marker, self._length())
        if marker != b"#":
            raise ValueError(f"an array without a count at byte {self.at}")
        return [self.value(depth + 1) for _ in range(self._length())]

    def _numbers(self, marker: bytes, count: int) -> np.ndarray:
        if marker not in _DTYPES:
            raise ValueError(f"unexpected type {marker!r} at byte {self.at}")
        dtype = np.dtype(_DTYPES[marker])
        return np.frombuffer(self._take(count * dtype.itemsize), dtype)

    def _text(self) -> str:
        return self._take(self._length()).decode()

    def _length(self) -> int:
        self._expect(b"L")
        length = int.from_bytes(self._take(8), signed=True)
        if not 0 <= length <= len(self.data) - self.at:
            raise ValueError(f"length {length} at byte {self.at} leaves the document")
        return length

    def _expect(self, marker: bytes) -> None:
        found = self._take(1)
        if found != marker:
            raise ValueError(f"found {found!r} at byte {self.at - 1}, expected {marker!r}")

    def _peek(self) -> bytes:
        return self.data[self.at : self.at + 1]

    def _take(self, count: int) -> bytes:
        taken = self.data[self.at : self.at + count]
        if len(taken) != count:
            raise ValueError(f"the document ends at byte {len(self.data)}, in the middle of a value")
        self.at += count
        return taken
