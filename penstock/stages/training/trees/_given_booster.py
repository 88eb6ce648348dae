"""A booster from a file, to which a training adds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from penstock.core.errors import ConfigError, UntrustedArtifactError
from penstock.frames import sparse
from penstock.stages.base import Blob
from penstock.stages.inference._model_file import read_file
from penstock.stages.training.trees._boosting import KIND, load_booster
from penstock.stages.training.trees.model_file.booster import check_features, read_booster

_SAME = {"multi:softmax": "multi:softprob"}


def read_given(path: str, stage: str) -> Blob:
    """Return the booster of a file, which was checked before XGBoost saw it.

    Raises
    ------
    MissingInputError, InputError
        It is not there, or cannot be read.
    UntrustedArtifactError
        It is none that is safe to load.
    """
    data, _ = read_file(path, stage)
    try:
        read_booster(data, path, trusted=False)
    except UntrustedArtifactError as error:
        error.hint = 'Write it as UBJSON, booster.save_model("model.ubj"), with the XGBoost that is installed here.'
        raise error.at(stage=stage) from error.__cause__
    return Blob(KIND, data)


def check_given(booster: Blob, path: str, columns: Sequence[str], parameters: Mapping[str, Any], stage: str) -> None:
    """Raise an error unless trees that are trained so can be added to a booster.

    Parameters
    ----------
    columns : sequence of str
        The features.
    parameters : mapping
        XGBoost's, with the objective, and the number of classes where there are more than two.

    Raises
    ------
    ArtifactError
        It is of other features.
    ConfigError
        It is of another objective, number of outputs or kind; or the features of a vector have no place in it.
    """
    if sparse.among(columns):
        raise ConfigError(
            f"xgb_model of {stage} is {path!r}, and a sparse vector is among the features: which index is at which"
            " place of that booster is not known",
            hint="Go on from a fitted model: model.refit(dataset, warm_start=True).",
            stage=stage,
        )
    loaded = load_booster(booster)
    names = loaded.feature_names or (columns if loaded.num_features() == len(columns) else [])
    check_features(names, columns, path, stage)
    for what, found, expected in _facts(json.loads(loaded.save_config())["learner"], parameters):
        if found != expected:
            raise ConfigError(
                f"xgb_model of {stage}, {path}, has {what} {found!r}, expected {expected!r}",
                hint="Trees are added to a booster that was trained alike: leave xgb_model out, or give another.",
                path=path,
                stage=stage,
            )


def _facts(learner: Mapping[str, Any], parameters: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield what has to be the same: in words, as the booster has it, and as it is to be trained."""
    objective, outputs = parameters["objective"], learner["learner_model_param"]
    yield "the objective", learner["objective"]["name"], _SAME.get(objective, objective)
    yield "the booster", learner["gradient_booster"]["name"], parameters.get("booster", "gbtree")
    yield "num_class", int(outputs["num_class"]), parameters.get("num_class", 0)
    trees = learner["gradient_booster"].get("gbtree", learner["gradient_booster"])["gbtree_model_param"]
    yield "num_parallel_tree", int(trees["num_parallel_tree"]), parameters.get("num_parallel_tree", 1)
    if objective == "reg:quantileerror":
        alpha, found = np.atleast_1d(parameters["quantile_alpha"]), learner["objective"]["quantile_loss_param"]
        yield "quantile_alpha", np.float32(json.loads(found["quantile_alpha"])).tolist(), np.float32(alpha).tolist()
