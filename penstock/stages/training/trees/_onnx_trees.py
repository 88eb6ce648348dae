"""The trees of XGBoost's boosters as nodes of ONNX."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.stages.base import Blob
from penstock.stages.onnx_graph import ML, OnnxGraph, Tensor, not_in_onnx

_EXPONENTIAL = ("count:poisson", "reg:gamma", "reg:tweedie", "survival:aft", "survival:cox")
_LOGISTIC = ("binary:logistic", "reg:logistic")


def scores(graph: OnnxGraph, stage: Any, blob: Blob, *, kind: str) -> Tensor:
    """Return float64 scores of the stage's features, of shape (rows, outputs): of `kind` "margin" or "value".

    Raises
    ------
    ConfigError
        The booster has something else than trees of one output each.
    """
    from penstock.stages.training.trees._boosting import load_booster

    learner = json.loads(bytes(load_booster(blob).save_raw("json")))["learner"]
    forest = _forest(stage, learner)
    outputs = max(int(learner["learner_model_param"]["num_class"]), max(forest["tree_info"], default=0) + 1)
    rows = graph.numbers(stage.inputs(), "float32")
    attributes = _attributes(_with_bases(forest, np.resize(_margins(learner), outputs)), outputs)
    margin = graph.cast(graph.add("TreeEnsembleRegressor", rows, dtype="float32", domain=ML, **attributes), "float64")
    return margin if kind == "margin" else _after_link(graph, learner["objective"]["name"], margin)


def _forest(stage: Any, learner: Mapping[str, Any]) -> dict[str, Any]:
    """Return the trees and their weights, which those have that were dropped now and then."""
    booster = learner["gradient_booster"]
    if booster["name"] == "dart":
        return {**booster["gbtree"]["model"], "weights": booster["weight_drop"]}
    if booster["name"] != "gbtree":
        raise not_in_onnx(stage, f"booster {booster['name']!r}", "Train with trees, or export linear models by stages.")
    forest = booster["model"]
    if any(int(tree["tree_param"].get("size_leaf_vector", 1)) > 1 for tree in forest["trees"]):
        raise not_in_onnx(stage, "trees of several outputs", 'Pass params={"multi_strategy": "one_output_per_tree"}.')
    if any(tree["categories"] for tree in forest["trees"]):
        raise not_in_onnx(stage, "trees that split by sets of categories", "Encode the categories before.")
    return {**forest, "weights": forest.get("weight_drop") or [1.0] * len(forest["trees"])}


def _margins(learner: Mapping[str, Any]) -> np.ndarray:
    """Return the base scores before the link; XGBoost says them as what it predicts."""
    said = json.loads(learner["learner_model_param"]["base_score"])
    bases = np.atleast_1d(np.array(said, np.float32))
    objective = learner["objective"]["name"]
    # The C library's logarithm of float32 numbers is that of float64, rounded; NumPy's is not always.
    if objective in _LOGISTIC:
        bases = -np.log((1 / bases - 1).astype(np.float64)).astype(np.float32)
    elif objective in _EXPONENTIAL:
        bases = np.log(bases.astype(np.float64)).astype(np.float32)
    return bases


def _with_bases(forest: Mapping[str, Any], bases: np.ndarray) -> dict[str, Any]:
    """Return the trees after one leaf for the base score of each output: so XGBoost adds them up, in float32."""
    leaf = {"left_children": [-1], "right_children": [-1], "split_indices": [0], "default_left": [0]}
    return {
        "trees": [*({**leaf, "split_conditions": [base]} for base in bases), *forest["trees"]],
        "tree_info": [*range(len(bases)), *forest["tree_info"]],
        "weights": [*[1.0] * len(bases), *forest["weights"]],
    }


def _after_link(graph: OnnxGraph, objective: str, margin: Tensor) -> Tensor:
    op = "Exp" if objective in _EXPONENTIAL else "Sigmoid" if objective in _LOGISTIC else None
    return graph.add(op, margin) if op else margin


def _attributes(forest: Mapping[str, Any], outputs: int) -> dict[str, Any]:
    """Return the attributes of a TreeEnsembleRegressor: what it has of all nodes, and of the leaves besides."""
    trees = [_columns(number, tree) for number, tree in enumerate(forest["trees"])]
    nodes = {name: np.concatenate([tree[name] for tree in trees]) for name in trees[0]}
    leaf = nodes["leaf"]
    weights = np.array(forest["weights"], np.float32)[nodes["treeids"][leaf]] * nodes["values"][leaf]
    modes = np.where(leaf, "LEAF", "BRANCH_LT").tolist()
    return {
        "n_targets": outputs,
        "nodes_treeids": nodes["treeids"].tolist(),
        "nodes_nodeids": nodes["nodeids"].tolist(),
        "nodes_featureids": np.where(leaf, 0, nodes["features"]).tolist(),
        "nodes_values": np.where(leaf, 0, nodes["values"]).tolist(),
        "nodes_modes": modes,
        "nodes_truenodeids": np.where(leaf, 0, nodes["left"]).tolist(),
        "nodes_falsenodeids": np.where(leaf, 0, nodes["right"]).tolist(),
        "nodes_missing_value_tracks_true": np.where(leaf, 0, nodes["default_left"]).tolist(),
        "target_treeids": nodes["treeids"][leaf].tolist(),
        "target_nodeids": nodes["nodeids"][leaf].tolist(),
        "target_ids": np.array(forest["tree_info"])[nodes["treeids"][leaf]].tolist(),
        "target_weights": weights.tolist(),
    }


def _columns(number: int, tree: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Return what is known of the nodes of one tree; those that were pruned lie apart, and stay leaves of nothing."""
    left = np.array(tree["left_children"])
    reached = _reached(left, np.array(tree["right_children"]))
    places = np.cumsum(reached) - 1
    return {
        "treeids": np.full(reached.sum(), number),
        "nodeids": np.arange(reached.sum()),
        "leaf": left[reached] < 0,
        "left": places[left][reached],
        "right": places[np.array(tree["right_children"])][reached],
        "features": np.array(tree["split_indices"])[reached],
        "values": np.array(tree["split_conditions"], np.float32)[reached],
        "default_left": np.array(tree["default_left"], np.int64)[reached],
    }


def _reached(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return which nodes can be come to from the root."""
    found = np.zeros(len(left), bool)
    waiting = [0]
    while waiting:
        node = waiting.pop()
        found[node] = True
        waiting += [int(each[node]) for each in (left, right) if left[node] >= 0]
    return found
