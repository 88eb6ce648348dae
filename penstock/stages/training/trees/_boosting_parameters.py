"""Parameters by XGBoost's own names, tried when a stage is made: XGBoost looks at them once all data is read."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xgboost as xgb

from penstock.core.errors import ConfigError, did_you_mean

_DOCUMENTED = "See the list at 'XGBoost Parameters' in its documentation."
_BINNED = "Leave it out: training is on bins, of all ranks together."
_CHOICES: Mapping[str, tuple[tuple[Any, ...], str]] = {
    "booster": (("gbtree", "dart"), "For a linear model take LinearRegression or LogisticRegression."),
    "tree_method": (("hist", "auto"), _BINNED),
    "multi_strategy": (("one_output_per_tree",), "Leave it out: trees of several outputs cannot be saved."),
    "process_type": (("default",), "Leave it out: each fit grows new trees."),
    "verbosity": ((0, 1, 2, 3), "From silent to everything."),
}
"""What a stage takes of parameters whose other values XGBoost takes only elsewhere, or keeps for the whole process."""


def check_names(stage: str, names: Sequence[str]) -> None:
    """Raise ConfigError for a name that XGBoost does not know; XGBoost itself only warns."""
    known = _known_parameters()
    for name in names:
        if name not in known:
            raise ConfigError(
                f"XGBoost has no parameter {name!r}.{did_you_mean(name, known)}", hint=_DOCUMENTED, stage=stage
            )


def check_values(stage: str, parameters: Mapping[str, Any], objectives: Sequence[str]) -> None:
    """Raise ConfigError for values that XGBoost cannot train with, whichever of some objectives it is for.

    Parameters
    ----------
    stage : str
    parameters : mapping
        Without constraints on features. ``num_class`` where the labels are known.
    objectives : sequence of str
        Those that the labels may yet decide between.
    """
    for name, (choices, hint) in _CHOICES.items():
        if parameters.get(name) is not None and parameters[name] not in choices:
            expected = ", ".join(map(str, choices))
            problem = f"{name} of {stage} is {parameters[name]!r}, expected one of {expected}"
            raise ConfigError(problem, hint=hint, stage=stage)
    given = {name: value for name, value in parameters.items() if name != "verbosity" and value is not None}
    refusals = []
    for objective in objectives:
        try:
            return _try_out({"tree_method": "hist", **given, "objective": objective})
        except (xgb.core.XGBoostError, TypeError, ValueError) as error:
            refusals.append(error)
    problem = f"XGBoost refuses the parameters of {stage}, {given!r:.300}: {_reason(refusals[0])}"
    raise ConfigError(problem, hint=_DOCUMENTED, stage=stage) from refusals[0]


def _try_out(parameters: Mapping[str, Any]) -> None:
    """Learn from one row, judge what is learned, and read it back."""
    objective, start = parameters["objective"], parameters.get("base_score")
    label: dict[str, Any] = {"label": [1.0]}
    if objective == "survival:aft":
        label = {"label_lower_bound": [1.0], "label_upper_bound": [1.0]}
    elif objective.startswith("rank:"):
        label["qid"] = [0]
    elif objective.startswith("multi:"):
        parameters = {"num_class": len(start) if isinstance(start, list | tuple) else 3, **parameters}
    with xgb.config_context(verbosity=0):
        bins = parameters.get("max_bin")
        row = xgb.QuantileDMatrix(np.zeros((1, 1), dtype=np.float32), max_bin=bins, nthread=1, **label)
        booster = xgb.Booster({**parameters, "nthread": 1}, [row])
        booster.update(row, 0)
        booster.eval_set([(row, "trial")])
        xgb.Booster(model_file=booster.save_raw("ubj")).save_config()


def _reason(error: Exception) -> str:
    r"""Return what XGBoost says without time, place in its sources and stack.

    Examples
    --------
    >>> _reason(ValueError("[10:11:12] /src/gbm.cc:24: Unknown gbm type zz\nStack trace: ..."))
    'Unknown gbm type zz'
    """
    first = str(error).partition("\n")[0]
    return re.sub(r"^(\[[\d:]+\] \S+:\d+: )?(Check failed: [^:]+: (?=\S))?", "", first)


@functools.cache
def _known_parameters() -> frozenset[str]:
    """Collect the names that XGBoost itself lists, under several objectives and boosters; of old ones it warns."""
    with xgb.config_context(verbosity=0):
        return _listed_parameters()


def _listed_parameters() -> frozenset[str]:
    data = xgb.DMatrix(np.zeros((1, 1), dtype=np.float32), label=np.zeros(1))
    names = {"verbosity"}
    for choice in (
        {},
        {"booster": "dart"},
        {"objective": "multi:softprob", "num_class": 3},
        {"objective": "reg:tweedie"},
        {"objective": "reg:quantileerror", "quantile_alpha": 0.5},
        {"objective": "reg:pseudohubererror"},
        {"objective": "survival:aft"},
        {"objective": "rank:ndcg"},
    ):
        booster = xgb.Booster({"tree_method": "hist", **choice}, [data])
        names |= set(_settings(json.loads(booster.save_config())["learner"]))
    return frozenset(names - {"name", "num_feature", "num_target", "num_trees", "updater_seq", "boost_from_average"})


def _settings(tree: Any) -> list[str]:
    """Return the names in a configuration that stand for values, not for groups of them."""
    if isinstance(tree, list):
        return [name for item in tree for name in _settings(item)]
    if not isinstance(tree, dict):
        return []
    own = [name for name, value in tree.items() if isinstance(value, str)]
    return [*own, *(name for item in tree.values() for name in _settings(item))]
