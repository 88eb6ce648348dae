"""Coefficients of many classes and indices that do not fit into memory are refused before they are made."""

import tracemalloc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import penstock as ps
from penstock import stages as st
from penstock.dataset import Dataset
from penstock.errors import ConfigError
from penstock.frames import sparse
from penstock.pipeline import Pipeline
from penstock.stages.training import _coefficient_memory
from penstock.stages.training.linear import _sparse_features
from penstock.statistics.class_indices import SumsByClass

VECTOR = sparse.columns("v")
FEATURES = ("x", *VECTOR)


def dataset(classes: int, indices: int, rows: int) -> Dataset:
    """Return rows of a number and of three of so many indices, all of which occur."""
    at = np.sort(np.arange(3 * rows).reshape(rows, 3) % indices, axis=1)
    columns = {
        "x": np.random.default_rng(1).random(rows),
        "v_indices": pa.array(at.tolist(), pa.list_(pa.int32())),
        "v_values": pa.array(np.ones(at.shape).tolist(), pa.list_(pa.float64())),
        "label": np.arange(rows) % classes,
    }
    return ps.LocalEngine(device="cpu").from_arrow(pa.table(columns))


def limited(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(_coefficient_memory, "devices", SimpleNamespace(memory_limit=lambda: limit))


def refused(*_: Any, **__: Any) -> Any:
    raise AssertionError("it is too late to refuse")


@pytest.mark.parametrize(("classes", "outputs"), [(2, 1), (4, 4)])
def test_logistic_regression_is_refused_before_training(monkeypatch, classes, outputs):
    data, stage = dataset(classes, 12, 48), st.LogisticRegression("label", features=FEATURES, reg_param=0.1)
    needed = 94 * 8 * outputs * (1 + 12 + 1)  # of the number, the indices and the intercept
    limited(monkeypatch, needed)
    assert Pipeline(stage).fit(data).fitted[0]["converged"]
    limited(monkeypatch, needed - 1)
    monkeypatch.setattr(_sparse_features, "SparseDesign", refused)
    expected = f"would take .* of memory, 94 times {outputs} x 14 coefficients of 8 bytes, and this process may have"
    with pytest.raises(ConfigError, match=expected) as caught:
        Pipeline(stage).fit(data)
    assert caught.value.stage == "LogisticRegression"
    assert "fewer indices" in str(caught.value.hint)


def test_naive_bayes_is_refused_before_sums_are_dense(monkeypatch):
    data, stage = dataset(4, 12, 48), st.NaiveBayes("label", features=VECTOR)
    needed = 5 * 8 * 4 * 12
    limited(monkeypatch, needed)
    assert Pipeline(stage).fit(data).fitted[0]["size"] == 12
    limited(monkeypatch, needed - 1)
    monkeypatch.setattr(SumsByClass, "sums", property(refused))
    with pytest.raises(ConfigError, match=r"NaiveBayes would take 1\.9 KiB of memory, 5 times 4 x 12 .* have 1\.9 KiB"):
        Pipeline(stage).fit(data)


def peak(monkeypatch: pytest.MonkeyPatch, kind: Any, method: str, fit: Callable[[], Any]) -> int:
    """Return how many bytes a method of a stage allocates on top of what there is, at most."""
    found, called = [], getattr(kind, method)

    def traced(*arguments: Any) -> Any:
        tracemalloc.start()
        try:
            return called(*arguments)
        finally:
            found.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()

    monkeypatch.setattr(kind, method, traced)
    fit()
    return found[0]


@pytest.mark.thorough
def test_as_much_is_told_as_logistic_regression_takes(monkeypatch):
    data = dataset(30, 4_000, 4_000)
    stage = st.LogisticRegression("label", features=VECTOR, reg_param=1e-5, max_iter=12, tol=1e-12)
    taken = peak(monkeypatch, st.LogisticRegression, "train", lambda: Pipeline(stage).fit(data))
    assert 0.8 < taken / (94 * 8 * 30 * 4_001) < 1.05


@pytest.mark.thorough
@pytest.mark.parametrize("model_type", ["multinomial", "complement", "bernoulli"])
def test_as_much_is_told_as_naive_bayes_takes(monkeypatch, model_type):
    data, stage = dataset(40, 8_000, 4_000), st.NaiveBayes("label", features=VECTOR, model_type=model_type)
    taken = peak(monkeypatch, st.NaiveBayes, "finish", lambda: Pipeline(stage).fit(data))
    assert 0.5 < taken / (5 * 8 * 40 * 8_000) < 1.05
