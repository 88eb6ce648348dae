"""One tree of an XGBoost model file: a tree indeed, with every index in range."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.core.checks import exact_keys, need, whole

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
