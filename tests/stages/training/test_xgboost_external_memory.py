"""Training from external memory gives the model of training in memory, and leaves nothing behind."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock import stages as st
from penstock.errors import DataValueError
from penstock.pipeline import Pipeline
from penstock.spmd import Rank
from penstock.stages.training.trees import _boosting, _quantised
from penstock.stages.training.trees._matrix import Batches


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.thorough
@pytest.mark.parametrize("more", [{}, {"subsample": 0.5, "weight": "w"}])
def test_external_memory_gives_the_model_of_memory(make, y, folder, monkeypatch, more):
    seen: list[str] = []
    booster = _boosting._booster
    monkeypatch.setattr(
        _boosting, "_booster", lambda *rest: (seen.extend(map(str, folder.rglob("*.page"))), booster(*rest))[1]
    )
    stages = [st.XGBoostRegressor("y", num_boost_round=6, external_memory=each, **more) for each in (False, True)]
    data = make(y=y, w=np.random.default_rng(1).random(len(y)))
    models = [Pipeline(stage).fit(data) for stage in stages]
    found, expected = (model.transform(data).to_arrow()["prediction"].to_numpy() for model in reversed(models))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert [os.path.basename(path).split("-")[0] for path in seen] == ["train"]
    assert list(folder.iterdir()) == []


def test_no_batch_is_kept(make, y, monkeypatch):
    kept: list[Any] = []
    matrix = _quantised._matrix
    monkeypatch.setattr(
        _quantised, "_matrix", lambda batches, *rest: (kept.append(batches._held), matrix(batches, *rest))[1]
    )
    Pipeline(st.XGBoostRegressor("y", num_boost_round=1, external_memory=True)).fit(make(y=y))
    assert kept == [None]


@pytest.mark.thorough
def test_validation_is_followed_from_external_memory(make, y, folder):
    label = (y > 0).astype(int)
    found, expected = (
        Pipeline(
            st.XGBoostClassifier("label", num_boost_round=30, early_stopping_rounds=3, external_memory=external)
        ).fit(make(label=label), validation=make(label=label[::-1])).fitted[0]
        for external in (True, False)
    )  # fmt: skip
    assert found["rounds"] == expected["rounds"] < 30
    np.testing.assert_allclose(found["history"]["logloss"], expected["history"]["logloss"], rtol=1e-5)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("where", ["report", "next"])
def test_the_folder_is_removed_when_training_fails(
    make, y, folder, monkeypatch, where,
    capfd
):  # fmt: skip
    def fail(*_: Any, **__: Any) -> None:
        assert list(folder.iterdir()) != []
        raise DataValueError("bad")

    monkeypatch.setattr(*((Rank, "report") if where == "report" else (Batches, "next")), fail)
    with pytest.raises(DataValueError, match="bad"):
        Pipeline(st.XGBoostRegressor("y", num_boost_round=2, external_memory=True)).fit(make(y=y))
    assert list(folder.iterdir()) == []
    assert capfd.readouterr().err == ""  # nor did XGBoost miss its files
