"""How a rank trains: checkpoints, data read again, ranks without rows, threads, devices."""

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import xgboost as xgb

from penstock import devices, frames
from penstock import stages as st
from penstock.devices import Device
from penstock.errors import DataValueError, ExecutionError
from penstock.pipeline import Pipeline
from penstock.spmd import Rank, SpmdOptions
from penstock.stages.training.trees import _boosting, _matrix, _quantised
from penstock.stages.training.trees._matrix import Batches, ToBatch
from penstock.stages.training.trees._tree_features import float32_matrix
from penstock.testing import LocalGang

# Checkpoints


class Interrupted(KeyboardInterrupt):
    """Ends the process, as far as training can tell."""


def interrupt(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    report = Rank.report

    def reports(self: Rank, rounds: int, detail: str = "") -> None:
        report(self, rounds, detail)
        if rounds == after:
            raise Interrupted

    monkeypatch.setattr(Rank, "report", reports)


@pytest.mark.thorough
@pytest.mark.parametrize("after", [2, 6, 7])
def test_a_training_that_goes_on_gives_the_model_of_one_that_was_never_interrupted(
    make, y, tmp_path, monkeypatch, after
):
    stage = st.XGBoostRegressor("y", num_boost_round=10, subsample=0.5, colsample_bytree=0.7)
    options = SpmdOptions(checkpoint_dir=tmp_path, checkpoint_interval=3)
    with monkeypatch.context() as patched:
        interrupt(patched, after)
        with pytest.raises(Interrupted):
            Pipeline(stage).fit(make(y=y), options=options)
    assert len(list(tmp_path.iterdir())) == (after > 3)
    reported: list[int] = []
    report = Rank.report
    monkeypatch.setattr(Rank, "report", lambda rank, n, detail="": (reported.append(n), report(rank, n, detail)))
    resumed = Pipeline(stage).fit(make(y=y), options=options)
    assert reported == list(range(1 + (after - 1) // 3 * 3, 11))
    assert list(tmp_path.iterdir()) == []
    undisturbed = Pipeline(stage).fit(make(y=y), options=SpmdOptions(checkpoint_interval=3))
    assert resumed.fitted[0] == undisturbed.fitted[0]


@pytest.mark.thorough
def test_early_stopping_goes_on_where_it_was(make, y, tmp_path, monkeypatch):
    watched = np.random.default_rng(3).permutation(y)
    stage = st.XGBoostRegressor("y", num_boost_round=60, early_stopping_rounds=5, learning_rate=0.5)
    undisturbed = Pipeline(stage).fit(make(y=y), validation=make(y=watched)).fitted[0]
    assert undisturbed["rounds"] <= 3  # the best is behind the checkpoint
    options = SpmdOptions(checkpoint_dir=tmp_path, checkpoint_interval=1)
    with monkeypatch.context() as patched:
        interrupt(patched, len(undisturbed["history"]["rmse"]) - 1)
        with pytest.raises(Interrupted):
            Pipeline(stage).fit(make(y=y), validation=make(y=watched), options=options)
    assert Pipeline(stage).fit(make(y=y), validation=make(y=watched), options=options).fitted[0] == undisturbed


@pytest.mark.thorough
def test_the_checkpoint_of_other_data_is_not_taken(make, y, tmp_path, monkeypatch):
    stage = st.XGBoostRegressor("y", num_boost_round=4)
    options = SpmdOptions(checkpoint_dir=tmp_path, checkpoint_interval=1)
    with monkeypatch.context() as patched:
        interrupt(patched, 3)
        with pytest.raises(Interrupted):
            Pipeline(stage).fit(make(y=y), options=options)
    other = make(y=y[::-1])
    assert Pipeline(stage).fit(other, options=options).fitted[0] == Pipeline(stage).fit(other).fitted[0]


# How a rank trains


@pytest.mark.thorough
def test_data_that_is_read_again_gives_the_model_of_data_that_is_kept(make, y, monkeypatch):
    stage = st.XGBoostRegressor("y", num_boost_round=5)
    kept = Pipeline(stage).fit(make(y=y), validation=make(y=y)).fitted[0]
    read: list[str] = []
    batches = Rank.batches
    monkeypatch.setattr(Rank, "batches", lambda self, name, *rest: (read.append(name), batches(self, name, *rest))[1])
    monkeypatch.setattr(_matrix, "CACHE_BYTES", 100)
    assert Pipeline(stage).fit(make(y=y), validation=make(y=y)).fitted[0] == kept
    assert read.count("train") > 1


def test_a_gpu_keeps_matrices_up_to_an_eighth_of_its_memory(local, monkeypatch):
    data = {"train": local.from_arrow(pa.table({"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]}))}

    def is_kept(rank: Rank) -> bool:
        return bool(Batches(rank, "train", ToBatch(("x",), "y", None, None)).take())

    kept = []
    for memory in (8 * 12, 8 * 11):
        monkeypatch.setattr(devices, "use", lambda kind, memory=memory: Device("cpu", memory=memory))
        kept += LocalGang(1).run(is_kept, data)
    assert kept == [True, False]


def test_a_rank_without_rows_has_a_matrix_without_rows(local):
    data = {"train": local.from_arrow(pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.float64())}))}

    def shape(rank: Rank) -> tuple[int, int, list[str] | None]:
        made = xgb.QuantileDMatrix(Batches(rank, "train", ToBatch(("x",), "y", None, None)))
        return made.num_row(), made.num_col(), made.feature_names

    for size in (1, 2):
        assert LocalGang(size).run(shape, data) == [(0, 1, ["x"])] * size


def test_the_matrix_is_freed_once_xgboost_has_its_own(local):
    data = {"train": local.from_arrow(pa.table({"x": [1.0, 2.0], "y": [1.0, 2.0]}))}

    def held(rank: Rank) -> int:
        batches = Batches(rank, "train", ToBatch(("x",), "y", None, None))
        _quantised._matrix(batches, {"nthread": 1}, None)
        return len(batches._held)

    assert LocalGang(1).run(held, data) == [0]


def test_a_rank_uses_the_threads_it_has(local, monkeypatch):
    used: list[str] = []
    monkeypatch.setattr(
        _boosting, "_check_device",
        lambda booster, rank: used.append(json.loads(booster.save_config())["learner"]["generic_param"]["nthread"]),
    )  # fmt: skip
    data = {"train": local.from_arrow(pa.table({"x": [1.0, 2.0] * 10, "y": [1.0, 2.0] * 10}))}
    convert = ToBatch(("x",), "y", None, None)
    LocalGang(1).run(
        lambda rank: _boosting.boost(rank, convert, {}, num_boost_round=1, early_stopping_rounds=None), data, threads=3
    )
    assert used == ["3"]


def test_training_that_fell_back_to_the_cpu_is_an_error():
    def check(asked: str, used: str) -> None:
        config = json.dumps({"learner": {"generic_param": {"device": used}}})
        booster: Any = SimpleNamespace(save_config=lambda: config)
        _boosting._check_device(booster, SimpleNamespace(kind=asked, index=3))  # type: ignore[arg-type]

    check("gpu", "cuda:0")
    check("cpu", "cpu")
    with pytest.raises(ExecutionError, match=r"asked to train on a GPU and trained on 'cpu' \(rank 3\)"):
        check("gpu", "cpu")


def test_a_gpu_is_named_with_its_number(monkeypatch):
    monkeypatch.setattr(devices, "use", lambda kind: Device("gpu", 1))
    assert _boosting.device_name("gpu") == "cuda:1"


def test_the_configuration_says_where_a_model_was_trained():
    booster = xgb.train({"device": "cpu"}, xgb.DMatrix(np.zeros((2, 1)), label=[0, 1]), 1)
    assert json.loads(booster.save_config())["learner"]["generic_param"]["device"] == "cpu"


def test_features_beyond_float32_are_found_on_the_matrix():
    frame = frames.from_arrow(pa.table({"x": [1.0, 2.0], "big": [0.0, -1e300]}))
    with pytest.raises(DataValueError, match="'big': 1 value") as caught:
        float32_matrix(frame, ("x", "big"))
    assert frame.filter(caught.value.predicate)["big"].to_list() == [-1e300]
