"""One rank's part in boosting: the matrices, the rounds, checkpoints, and what is kept."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import xgboost as xgb

from penstock.errors import ConfigError, ExecutionError, did_you_mean
from penstock.spmd import Rank
from penstock.stages.base import Blob, Fitted
from penstock.stages.training.matrix import Batches, ToBatch

KIND = "xgboost-ubj"


class _Follow(xgb.callback.TrainingCallback):
    """Tells of every round, and saves what was learned every few."""

    def __init__(self, rank: Rank) -> None:
        self._rank = rank

    def after_iteration(self, model: xgb.Booster, epoch: int, evals_log: Mapping[str, Any]) -> bool:
        """Report, save, and go on."""
        rounds = model.num_boosted_rounds()
        self._rank.report(rounds, _latest(evals_log))
        if rounds % self._rank.checkpoint_interval == 0 and self._rank.index == 0:
            self._rank.save(rounds, bytes(model.save_raw("ubj")))
        return False


def _latest(evals_log: Mapping[str, Any]) -> str:
    return " ".join(
        f"{data} {metric} {values[-1]:.5f}" for data, metrics in evals_log.items() for metric, values in metrics.items()
    )


def boost(
    rank: Rank,
    convert: ToBatch,
    parameters: Mapping[str, Any],
    *,
    num_boost_round: int,
    early_stopping_rounds: int | None,
) -> Fitted:
    """Train on every rank; each returns the same.

    Data is read before the ranks meet, so that the time limit of collective calls covers computing and no reading.
    With a "validation" dataset its metrics are followed, and `early_stopping_rounds` keeps the best round.

    Raises
    ------
    ExecutionError
        A GPU was asked for and XGBoost trained on the CPU: it only warns.
    """
    settings = {**parameters, "nthread": rank.threads, "device": "cuda" if rank.kind == "gpu" else "cpu"}
    train = Batches(rank, "train", convert)
    watched = Batches(rank, "validation", convert) if "validation" in rank.datasets else None
    history: dict[str, Any] = {}
    with rank.collective():
        matrix = xgb.QuantileDMatrix(train, max_bin=settings.get("max_bin"), nthread=rank.threads)
        evals = []
        if watched is not None:
            held_out = xgb.QuantileDMatrix(watched, ref=matrix, max_bin=settings.get("max_bin"), nthread=rank.threads)
            evals = [(held_out, "validation")]
        known = rank.checkpoint
        booster = xgb.train(
            settings,
            matrix,
            num_boost_round=num_boost_round - (known.rounds if known else 0),
            evals=evals,
            evals_result=history,
            early_stopping_rounds=early_stopping_rounds if evals else None,
            verbose_eval=False,
            xgb_model=None if known is None else bytearray(known.data),
            callbacks=[_Follow(rank)],
        )
    _check_device(booster, rank)
    return _kept(booster, history, stopped_early=bool(evals) and early_stopping_rounds is not None)


def _kept(booster: xgb.Booster, history: dict[str, Any], *, stopped_early: bool) -> Fitted:
    if stopped_early:
        booster = booster[: booster.best_iteration + 1]
    return {
        "booster": Blob(KIND, bytes(booster.save_raw("ubj"))),
        "rounds": booster.num_boosted_rounds(),
        "history": {metric: list(values) for metric, values in history.get("validation", {}).items()},
    }


def _check_device(booster: xgb.Booster, rank: Rank) -> None:
    """Read back where the booster was trained; XGBoost falls back to the CPU with only a warning."""
    used = json.loads(booster.save_config())["learner"]["generic_param"]["device"]
    if rank.kind == "gpu" and not used.startswith("cuda"):
        raise ExecutionError(
            f"XGBoost was asked to train on a GPU and trained on {used!r} (rank {rank.index})",
            hint="Install the GPU build (pip install 'penstock[gpu]'), and run `penstock doctor` on the worker.",
        )


@functools.lru_cache(maxsize=16)
def load_booster(blob: Blob) -> xgb.Booster:
    """Return the booster, parsed once in a process."""
    return xgb.Booster(model_file=bytearray(blob.data))


def check_parameters(stage: str, parameters: Mapping[str, Any]) -> None:
    """Raise ConfigError for a name that XGBoost does not know; XGBoost itself only warns."""
    known = _known_parameters()
    for name in parameters:
        if name not in known:
            raise ConfigError(
                f"XGBoost has no parameter {name!r}.{did_you_mean(name, known)}",
                hint="See the list at 'XGBoost Parameters' in its documentation.",
                stage=stage,
            )


@functools.cache
def _known_parameters() -> frozenset[str]:
    """Collect the names that XGBoost itself lists, under several objectives and boosters."""
    names: set[str] = set(xgb.XGBModel().get_xgb_params()) | {"eta", "alpha", "lambda", "seed_per_iteration"}
    for choice in (
        {},
        {"booster": "dart"},
        {"objective": "multi:softprob", "num_class": 3},
        {"objective": "reg:tweedie"},
        {"objective": "reg:quantileerror", "quantile_alpha": 0.5},
        {"objective": "reg:pseudohubererror"},
        {"objective": "survival:aft"},
    ):
        booster = xgb.Booster({"tree_method": "hist", **choice})
        names |= set(_keys(json.loads(booster.save_config())))
    return frozenset(names)


def _keys(tree: Any) -> list[str]:
    if isinstance(tree, list):
        return [name for item in tree for name in _keys(item)]
    if not isinstance(tree, dict):
        return []
    return [*tree, *(name for item in tree.values() for name in _keys(item))]
