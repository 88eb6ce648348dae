"""Boosters without the features that no tree looks at: scoring a row costs XGBoost time for each feature it has."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xgboost as xgb

from penstock.stages.base import Blob

_DELETED = 2**31 - 1
"""What XGBoost has in place of a feature at a node that it pruned."""


def without_unused(blob: Blob, first: int) -> tuple[Blob, np.ndarray]:
    """Return a booster with the same scores that has fewer features, and which of them it has, ascending.

    Parameters
    ----------
    blob : Blob
        A booster whose features have no names.
    first : int
        So many features are kept whether a tree looks at them or not.
    """
    document = json.loads(bytes(xgb.Booster(model_file=bytearray(blob.data)).save_raw("json")))
    learner = document["learner"]
    trees = _trees(learner["gradient_booster"])
    kept = np.unique(np.concatenate([np.arange(first), *map(_features, trees)]))
    for tree in trees:
        split = np.array(tree["split_indices"])
        tree["split_indices"] = np.where(split == _DELETED, split, np.searchsorted(kept, split)).tolist()
        tree["tree_param"]["num_feature"] = str(len(kept))
    learner["learner_model_param"]["num_feature"] = str(len(kept))
    smaller = xgb.Booster(model_file=bytearray(json.dumps(document).encode()))
    return Blob(blob.kind, bytes(smaller.save_raw("ubj"))), kept


def _trees(booster: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """Return the trees of a ``gbtree`` booster, or of a ``dart`` one, which has one in it."""
    trees: Sequence[dict[str, Any]] = booster.get("gbtree", booster)["model"]["trees"]
    return trees


def _features(tree: Mapping[str, Any]) -> np.ndarray:
    """Return the features at nodes; leaves have 0, or the feature of the split that was there before pruning."""
    split: np.ndarray = np.array(tree["split_indices"])
    found: np.ndarray = split[split != _DELETED]
    return found
