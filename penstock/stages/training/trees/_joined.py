"""Boosters put together: trees that were grown on what others leave, after those."""

from __future__ import annotations

from typing import Any

from penstock.stages.base import Blob
from penstock.stages.training.trees._documents import from_document, to_document


def joined(before: Blob, more: Blob) -> Blob:
    """Return one booster with the trees of two, whose margins are the sum of those of both.

    Parameters
    ----------
    before : Blob
        Its ``base_score`` is that of the whole.
    more : Blob
        Of the same features and outputs, trained from the margins of `before`.
    """
    first, document = to_document(before), to_document(more)
    document["learner"]["learner_model_param"] = first["learner"]["learner_model_param"]
    one, other = (each["learner"]["gradient_booster"] for each in (first, document))
    if "gbtree" in other:
        other["weight_drop"] = [*one["weight_drop"], *other["weight_drop"]]
        one, other = one["gbtree"], other["gbtree"]
    _add(one["model"], other["model"])
    return from_document(more.kind, document)


def _add(one: Any, other: Any) -> None:
    """Put the trees of one model before those of another."""
    count = len(one["trees"])
    for tree in other["trees"]:
        tree["id"] += count
    for name in ("trees", "tree_info", *({"weight_drop"} & other.keys())):
        other[name] = [*one[name], *other[name]]
    other["iteration_indptr"] = [*one["iteration_indptr"], *(end + count for end in other["iteration_indptr"][1:])]
    other["gbtree_model_param"]["num_trees"] = str(len(other["trees"]))
