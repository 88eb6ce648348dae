"""One rank's part in boosting: the matrices, the rounds, checkpoints, and what is kept."""

from __future__ import annotations

import functools
import json
import math
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np
import xgboost as xgb
from scipy import sparse

from penstock import devices, frames
from penstock.core.errors import ArtifactError, ConfigError, DataValueError, ExecutionError
from penstock.core.extras import how_to_install
from penstock.frames import matrices
from penstock.io.sinks import TemporaryFolder
from penstock.spmd import Rank
from penstock.stages.base import Blob, Fitted
from penstock.stages.training.trees._float32 import BEYOND, farthest
from penstock.stages.training.trees._matrix import ToBatch
from penstock.stages.training.trees._metrics import is_maximised
from penstock.stages.training.trees._quantised import QuantisedInputs
from penstock.stages.training.trees._tree_features import float32_matrix, from_document, to_document

KIND = "xgboost-ubj"
_FEW_ROWS = 2_048
_COLUMN_SAMPLES = ("colsample_bytree", "colsample_bylevel", "colsample_bynode")


@dataclass
class _Course:
    """How the validation metrics went, and whether it is time to stop.

    The last metric decides, as in `xgboost.train`. It is kept with every checkpoint, so that a training that goes on
    from one stops where it would have stopped.
    """

    patience: int | None
    history: dict[str, list[float]] = field(default_factory=dict)

    def note(self, message: str) -> None:
        """Take the line that `Booster.eval_set` gives: ``[3] validation-auc:0.5 validation-logloss:0.7``."""
        for part in message.split()[1:]:
            name, _, value = part.rpartition(":")
            self.history.setdefault(name.removeprefix("validation-"), []).append(float(value))
        if self.patience is not None:
            self._check()

    def _check(self) -> None:
        """Raise DataValueError where the metric that decides is NaN or infinite: it would never be better again."""
        if not self.history:
            raise ConfigError("early stopping has no metric to watch: params leave it out", hint="Give eval_metric.")
        metric, values = list(self.history.items())[-1]
        if not math.isfinite(values[-1]):
            found = f"{values[-1]} of the validation rows after round {len(values)}"
            raise DataValueError(
                f"early stopping watches {metric!r}, which is {found}",
                hint="Correct these rows, or watch another eval_metric.",
            )

    @property
    def best(self) -> int:
        """The first round with the best value."""
        metric, values = list(self.history.items())[-1]
        sign = 1 if is_maximised(metric) else -1
        best = 0
        for place, value in enumerate(values):
            if sign * value > sign * values[best]:
                best = place
        return best

    def is_over(self) -> bool:
        """Return whether so many rounds have passed without a better value as patience allows."""
        if self.patience is None or not self.history:
            return False
        rounds = len(next(iter(self.history.values())))
        return rounds - 1 - self.best >= self.patience

    def __str__(self) -> str:
        return " ".join(f"validation {metric} {values[-1]:.5f}" for metric, values in self.history.items())


def boost(
    rank: Rank,
    convert: ToBatch,
    parameters: Mapping[str, Any],
    *,
    num_boost_round: int,
    early_stopping_rounds: int | None,
    external_memory: bool = False,
    before: Blob | None = None,
) -> Fitted:
    """Train on every rank; each returns the same.

    Data is read before the ranks meet, so that the time limit of collective calls covers computing and no reading;
    from external memory, and where data is too large to be kept, the matrices are made after.
    With a "validation" dataset its metrics are followed, and `early_stopping_rounds` keeps the best round. A training
    that goes on from a checkpoint gives the same model as one that was never interrupted.

    Parameters
    ----------
    num_boost_round : int
        Rounds at most, besides those of the booster `before`.
    before : Blob, optional
        The booster to add to: its trees, and its ``base_score``, stay as they are. What it says of rows is in their
        base margins, which are made of the values themselves: XGBoost would take the ends of their bins, on the other
        side of a split, maybe.

    Returns
    -------
    mapping
        The booster, its rounds, the history of the metrics, and what `_float32` found of the features.

    Raises
    ------
    DataValueError
        Early stopping by a metric that is not a number.
    ExecutionError
        A GPU was asked for and XGBoost trained on the CPU: it only warns.
    """
    settings = {**parameters, "nthread": rank.threads, "device": device_name(rank.kind)}
    with _cache_folder(external_memory) as folder:
        first = 0 if before is None else load_booster(before).num_boosted_rounds()
        rounds = range(first, first + num_boost_round)
        booster, course, beyond = _train(rank, convert, settings, folder, rounds, early_stopping_rounds)
    _check_device(booster, rank)
    if course.patience is not None:
        booster = booster[: course.best + 1]
    trained = Blob(KIND, bytes(booster.save_raw("ubj")))
    return {
        "booster": trained if before is None else joined(before, trained),
        "rounds": first + booster.num_boosted_rounds(), "history": course.history,
        BEYOND: farthest(rank.gather(beyond)),
    }  # fmt: skip


@contextmanager
def _cache_folder(external_memory: bool) -> Iterator[str | None]:
    """Give a folder for the files of a training from external memory, and remove it whatever happens."""
    if not external_memory:
        yield None
        return
    with TemporaryFolder() as folder:
        try:
            yield str(folder.path)
        except BaseException as error:
            # XGBoost looks for its files when a matrix goes, and an error would hold it until they are gone.
            traceback.clear_frames(error.__traceback__)
            raise


def _train(
    rank: Rank, convert: ToBatch, settings: Mapping[str, Any], folder: str | None, rounds: range, patience: int | None
) -> tuple[xgb.Booster, _Course, Mapping[str, int]]:
    """Return the booster, how it went, and what `_float32` found.

    Where there is a folder, nobody else holds the matrices, so that they go before their files do.
    """
    inputs = QuantisedInputs.of(rank, convert, settings, folder)
    with rank.collective():
        booster, course = _rounds(rank, settings, inputs.matrices(rank, settings), inputs.names, rounds, patience)
    return booster, course, inputs.beyond


def _rounds(
    rank: Rank,
    settings: Mapping[str, Any],
    data: list[xgb.DMatrix],
    names: Sequence[str] | None,
    rounds: range,
    patience: int | None,
) -> tuple[xgb.Booster, _Course]:
    """Boost round by round: `xgboost.train` would number the rounds after a checkpoint, and its samples, anew."""
    history, model = _unpack(rank.checkpoint.data) if rank.checkpoint else ({}, None)
    course = _Course(patience, history)
    booster = _booster(settings, data, model, names)
    for number in rounds[booster.num_boosted_rounds() :]:
        if course.is_over():
            break
        booster.update(data[0], iteration=number)
        for watched in data[1:]:
            course.note(booster.eval_set([(watched, "validation")], iteration=number))
        done = number - rounds.start + 1
        rank.report(done, str(course))
        at_checkpoint = done % rank.checkpoint_interval == 0 and done < len(rounds)
        if at_checkpoint and (rank.keeps_checkpoints or _samples(settings)):
            packed = _pack(course.history, booster)
            rank.save(done, packed)
            if _samples(settings):
                booster = _booster(settings, data, _unpack(packed)[1], names)
    return booster.reset(), course


def _booster(
    settings: Mapping[str, Any], data: list[xgb.DMatrix], model: Any, names: Sequence[str] | None
) -> xgb.Booster:
    booster = xgb.Booster(dict(settings), data, model_file=model)
    if names is not None:
        booster.feature_names = list(names)  # a matrix without rows does not give its own
    return booster


def _samples(settings: Mapping[str, Any]) -> bool:
    """Return whether rows or columns are sampled.

    The generator of a booster's samples is not part of its model. So that a training that goes on from a checkpoint
    draws what it would have drawn, the booster is made anew from every checkpoint also when nothing happens.
    """
    return any(settings.get(name, 1) != 1 for name in ("subsample", *_COLUMN_SAMPLES))


def _pack(history: Mapping[str, Sequence[float]], booster: xgb.Booster) -> bytes:
    return json.dumps(history).encode() + b"\n" + bytes(booster.save_raw("ubj"))


def _unpack(data: bytes) -> tuple[dict[str, list[float]], bytearray]:
    history, _, model = data.partition(b"\n")
    return json.loads(history), bytearray(model)


def device_name(kind: str) -> str:
    """Return what XGBoost calls the device of this process: with its number, for plain "cuda" is always the first GPU.

    Examples
    --------
    >>> device_name("cpu")
    'cpu'
    """
    index = devices.use(kind).index
    return "cpu" if index is None else f"cuda:{index}"


def _check_device(booster: xgb.Booster, rank: Rank) -> None:
    """Read back where the booster was trained; XGBoost falls back to the CPU with only a warning."""
    used = json.loads(booster.save_config())["learner"]["generic_param"]["device"]
    if rank.kind == "gpu" and not used.startswith("cuda"):
        raise ExecutionError(
            f"XGBoost was asked to train on a GPU and trained on {used!r} (rank {rank.index})",
            hint=f"Install the GPU build ({how_to_install('gpu')}), and run `penstock doctor` on the worker.",
        )


@functools.lru_cache(maxsize=16)
def load_booster(blob: Blob, device: str = "cpu", threads: int = 0) -> xgb.Booster:
    """Return the booster, parsed once in a process, to predict from data on `device`, a name of XGBoost's.

    Parameters
    ----------
    threads : int
        0 for as many as XGBoost sees fit.
    """
    return xgb.Booster({"device": device, "nthread": threads}, model_file=bytearray(blob.data))


def predict(blob: Blob, matrix: Any, kind: str) -> Any:
    """Return the float64 scores of a float32 matrix on its device: of `kind` "margin" or "value".

    A sparse matrix is on the host.
    """
    rows, held = matrix.shape[0], sparse.issparse(matrix)
    if not rows:
        return np.empty(0) if held else matrix.ravel().astype("float64")  # XGBoost cannot tell its device
    # More threads than one take longer to start, and to wait for each other, than a few rows take.
    threads = 1 if rows <= _FEW_ROWS else 0
    on_host = held or isinstance(matrix, np.ndarray)
    booster = load_booster(blob, device_name("cpu" if on_host else "gpu"), threads)
    if booster.num_features() != matrix.shape[1]:
        raise ArtifactError(
            f"the booster was trained on {booster.num_features()} features, and is given {matrix.shape[1]}",
            hint="It is not the booster that was saved with this stage: fit or copy the model again.",
        )
    return booster.inplace_predict(matrix, predict_type=kind, validate_features=False).astype("float64")


def contributions(frame: nw.DataFrame, features: tuple[str, ...], blob: Blob) -> Any:
    """Return XGBoost's SHAP values of each row as a float64 matrix: of each feature, then the bias, for each score."""
    kind = frames.kind_of(frame)
    if not len(frame):
        return matrices.to_device(np.empty((0, len(features) + 1)), kind)
    booster = load_booster(blob, device_name(kind))
    rows = xgb.DMatrix(float32_matrix(frame, features), feature_names=list(features), nthread=devices.usable_cores())
    values = booster.predict(rows, pred_contribs=True).astype("float64")
    return matrices.to_device(values.reshape(len(frame), -1), kind)


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
