"""Metrics of XGBoost for early stopping: direction, and required validation rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.stages.training._watched import Watched

_CURVES = ("auc", "aucpr")
_RANKINGS = ("pre", "map", "ndcg")
_OWN = {"rank:ndcg": "ndcg", "rank:pairwise": "ndcg", "rank:map": "map", "survival:cox": "cox-nloglik"}
"""Default metrics of objectives, where these need more than rows."""


def _plain(metric: str) -> str:
    """Return the name without its cutoff (``@5``) and its minus sign (groups without a relevant row count 0)."""
    return metric.split("@")[0].rstrip("-")


def is_maximised(metric: str) -> bool:
    """Return whether more of a metric is better, as XGBoost's own early stopping has it.

    Examples
    --------
    >>> [is_maximised(metric) for metric in ("auc", "ndcg@10-", "mape")]
    [True, True, False]
    """
    return _plain(metric) in (*_CURVES, *_RANKINGS)


def watched_by(parameters: Mapping[str, Any], label: str, weight: str | None, group: str | None) -> Watched:
    """Return the requirements of the deciding metric, the last one, on validation rows.

    Rankings compare the labels of a group, or of all rows where there is none.

    Examples
    --------
    >>> watched_by({"objective": "multi:softprob", "num_class": 3, "eval_metric": "auc"}, "y", None, None).labels
    3
    """
    objective, given = parameters["objective"], parameters.get("eval_metric")
    metric = given if given is None or isinstance(given, str) else list(given)[-1]
    name = f"the metric of {objective!r}" if metric is None else f"eval_metric {metric!r}"
    plain = _plain(metric or _OWN.get(objective, ""))
    if plain not in (*_CURVES, *_RANKINGS):
        return Watched(name, label, weight, events=plain == "cox-nloglik")
    return Watched(name, label, weight, group, parameters.get("num_class", 2) if plain in _CURVES else 2)
