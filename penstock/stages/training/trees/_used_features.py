"""Boosters without the features that no tree looks at: scoring a row costs XGBoost time for each feature it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from penstock.stages.base import Blob
from penstock.stages.training.trees._documents import from_document, to_document

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
    document = to_document(blob)
    kept = np.unique(np.concatenate([np.arange(first), *map(_features, _trees(document))]))
    return _recoded(blob.kind, document, lambda split: np.searchsorted(kept, split), len(kept)), kept


def with_features(blob: Blob, places: np.ndarray, count: int) -> Blob:
    """Return a booster with the same scores that has `count` features, its own at these places among them."""
    return _recoded(blob.kind, to_document(blob), lambda split: places[split], count)


def _recoded(kind: str, document: Any, place: Callable[[np.ndarray], np.ndarray], count: int) -> Blob:
    """Return a booster whose features are at other places, of so many."""
    for tree in _trees(document):
        split = np.array(tree["split_indices"])
        known = np.where(split == _DELETED, 0, split)
        tree["split_indices"] = np.where(split == _DELETED, split, place(known)).tolist()
        tree["tree_param"]["num_feature"] = str(count)
    document["learner"]["learner_model_param"]["num_feature"] = str(count)
    return from_document(kind, document)


def _trees(document: Any) -> Sequence[dict[str, Any]]:
    """Return the trees of a ``gbtree`` booster, or of a ``dart`` one, which has one in it."""
    booster: Mapping[str, Any] = document["learner"]["gradient_booster"]
    trees: Sequence[dict[str, Any]] = booster.get("gbtree", booster)["model"]["trees"]
    return trees


def _features(tree: Mapping[str, Any]) -> np.ndarray:
    """Return the features at nodes; leaves have 0, or the feature of the split that was there before pruning."""
    split: np.ndarray = np.array(tree["split_indices"])
    found: np.ndarray = split[split != _DELETED]
    return found
