"""Trainers on several ranks: equal bits for any number of ranks, threads and partitions."""

from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest
from vector_rows import MATRIX, NUMBERS, ROWS, SIZE, VECTOR, WEIGHT, X, dataset, draw, lists

from penstock import stages as st
from penstock.pipeline import Pipeline
from penstock.spmd import SpmdOptions
from penstock.stages.training.exact import design as _design
from penstock.stages.training.linear import _sparse_design
from penstock.testing import LocalGang

DRAW = draw()
SCORE = MATRIX @ DRAW.normal(size=SIZE) + 5 * X[:, 0] + DRAW.logistic(size=ROWS)
TABLE = pa.table({
    **dict(zip(NUMBERS, X.T, strict=True)), **lists(MATRIX), "c": DRAW.normal(size=ROWS) * 50 - 200, "w": WEIGHT,
    "y": 3 * SCORE + 20, "two": (SCORE > 0.4).astype(int), "three": np.digitize(SCORE, [-1, 1]),
    "counts": DRAW.poisson(np.exp(5 * X[:, 0])), "o": DRAW.uniform(-0.3, 0.3, ROWS),
})  # fmt: skip
COLUMNS: dict[str, Any] = {"features": ("a", "b", "c"), "weight": "w"}
BOTH: dict[str, Any] = {"features": (*NUMBERS, *VECTOR), "weight": "w", "reg_param": 0.02, "tol": 1e-4}
NET: dict[str, Any] = {"reg_param": 0.02, "elastic_net_param": 0.3, "tol": 1e-4}
TRAINERS: dict[str, Any] = {
    "two classes": st.LogisticRegression("two", **COLUMNS, **NET),
    "three classes": st.LogisticRegression("three", **COLUMNS, **NET),
    "two classes by a vector": st.LogisticRegression("two", elastic_net_param=0.3, **BOTH),
    "three classes by a vector": st.LogisticRegression("three", elastic_net_param=0.3, **BOTH),
    "ridge of a vector": st.LinearRegression("y", **BOTH),
    "elastic net of a vector": st.LinearRegression("y", elastic_net_param=0.5, **BOTH),
    "counts": st.GeneralizedLinearRegression("counts", family="poisson", offset="o", tol=1e-9, **COLUMNS),
    "probit": st.GeneralizedLinearRegression("two", family="binomial", link="probit", reg_param=0.1, **COLUMNS),
    "mixture": st.GaussianMixture(("a", "b"), k=3, tol=0.0, max_iter=8),
}
OF_MOMENTS = ("two classes", "three classes")
"""Trainers that scale features by moments, merged by fragment: partitions change their last digits."""


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each thread several parts of the rows."""
    monkeypatch.setattr(_design, "_ELEMENTS", 1000)
    monkeypatch.setattr(_sparse_design, "_ENTRIES", 100)


@pytest.mark.thorough
@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("name", TRAINERS)
def test_every_rank_of_any_number_learns_the_same(local, name):
    alone = Pipeline(TRAINERS[name]).fit(dataset(local, TABLE, 8_000)).fitted[0]
    other = 8_000 if name in OF_MOMENTS else 20_000
    for size, threads, fragment_bytes in ((1, 3, other), (3, 2, 8_000)):
        gang, data = LocalGang(size, shuffle_sums=True), dataset(local, TABLE, fragment_bytes)
        assert gang.train(TRAINERS[name], data, threads=threads) == [alone] * size, f"{size} ranks"


@pytest.mark.thorough
def test_a_rank_without_rows_takes_part(local):
    half = float(np.median(X[:, 0]))  # of three ranks, the first is left without rows
    data = dataset(local, TABLE.sort_by("a")).filter(nw.col("a") > half)
    for name in ("two classes", "two classes by a vector", "counts"):
        alone = Pipeline(TRAINERS[name]).fit(data).fitted[0]
        assert LocalGang(3, shuffle_sums=True).train(TRAINERS[name], data) == [alone] * 3, name


@pytest.mark.thorough
def test_a_training_goes_on_from_its_checkpoint(local):
    data, gang = dataset(local, TABLE), LocalGang(1, options=SpmdOptions(checkpoint_interval=2))
    for name in ("three classes", "ridge of a vector", "counts", "mixture"):
        undisturbed, checkpoints = gang.train(TRAINERS[name], data), gang.checkpoints
        assert [each.rounds for each in checkpoints[:2]] == [2, 4], name
        assert gang.train(TRAINERS[name], data, checkpoint=checkpoints[1]) == undisturbed, name
        assert gang.reports[0][0][0] == 5, name


@pytest.mark.cpu("one GPU is for one rank")
@pytest.mark.parametrize("name", ["two classes", "three classes by a vector", "ridge of a vector", "counts"])
def test_two_ranks_on_a_cluster_give_the_model_and_the_scores_of_one(distributed_engine, local, name):
    alone = Pipeline(TRAINERS[name]).fit(dataset(local, TABLE))
    data = dataset(distributed_engine, TABLE)
    model = Pipeline(TRAINERS[name]).fit(data, options=SpmdOptions(world_size=2))
    assert model.digest == alone.digest
    assert model.transform(data).to_arrow().equals(alone.transform(dataset(local, TABLE)).to_arrow())
