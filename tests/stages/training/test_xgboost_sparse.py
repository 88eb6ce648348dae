"""Boosting on sparse vectors: XGBoost's own model of the same sparse matrix, and never a dense one."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
import xgboost as xgb
from vector_rows import lists

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError
from penstock.frames import sparse
from penstock.pipeline import Pipeline, PipelineModel
from penstock.spmd import SpmdOptions
from penstock.stages.base import Blob
from penstock.stages.training.trees._boosting import load_booster
from penstock.stages.training.trees._tree_features import without_unused

ROWS, SIZE, ROUNDS = 400, 60, 6
DRAW = np.random.default_rng(4)
VECTOR = sparse.columns("v")
FEATURES = ("x", *VECTOR)
MATRIX = scipy.sparse.random(ROWS, SIZE, 0.1, format="csr", random_state=2, data_rvs=lambda n: DRAW.integers(0, 4, n))
MATRIX.sort_indices()
X = np.where(DRAW.random(ROWS) < 0.2, np.nan, DRAW.integers(0, 5, ROWS))
LABEL = (np.nan_to_num(X) + MATRIX[:, :10].sum(axis=1).A1 + DRAW.normal(size=ROWS) > 3).astype(int)


def table(matrix: Any = MATRIX, label: np.ndarray = LABEL, **more: Any) -> pa.Table:
    return pa.table({"x": pa.array(X, from_pandas=True), **lists(matrix), "label": label, **more})


def dataset(local: Engine, rows: pa.Table | None = None) -> Dataset:
    data = local.from_arrow(table() if rows is None else rows, fragment_bytes=8_000)
    assert len(data.fragments) > 1
    return data


def whole() -> Any:
    """Return the number and the vector as one matrix, as SciPy makes it: what is missing has no entry."""
    known = np.flatnonzero(~np.isnan(X))
    first = scipy.sparse.csr_matrix((X[known], (known, np.zeros_like(known))), shape=(ROWS, 1))
    return scipy.sparse.hstack([first, MATRIX], format="csr", dtype=np.float32)


def oracle(matrix: Any, label: np.ndarray, parameters: dict[str, Any]) -> xgb.Booster:
    data = xgb.QuantileDMatrix(matrix, label=label, nthread=1)
    return xgb.train({"tree_method": "hist", "nthread": 1, "max_depth": 3, **parameters}, data, ROUNDS)


def classifier(**options: Any) -> st.XGBoostClassifier:
    return st.XGBoostClassifier("label", features=FEATURES, num_boost_round=ROUNDS, max_depth=3, **options)


@pytest.fixture
def model(local: Engine) -> PipelineModel:
    return Pipeline(classifier()).fit(dataset(local))


def margins(model: PipelineModel, data: Dataset) -> np.ndarray:
    return model.transform(data).to_arrow()["rawPrediction"].to_numpy()


@pytest.mark.thorough
@pytest.mark.parametrize("external", [False, True])
def test_the_model_is_xgboosts_own_of_the_sparse_matrix(local, external):
    found = margins(Pipeline(classifier(external_memory=external)).fit(dataset(local)), dataset(local))
    expected = oracle(whole(), LABEL, {"objective": "binary:logistic"})
    np.testing.assert_allclose(found, expected.inplace_predict(whole(), predict_type="margin"), rtol=1e-5, atol=1e-6)


@pytest.mark.thorough
def test_predictions_are_those_of_the_dense_matrix_without_what_is_missing(model, local):
    dense = np.full((ROWS, SIZE + 1), np.nan, np.float32)
    entries = whole().tocoo()
    dense[entries.row, entries.col] = entries.data
    kept = [0, *(1 + model.fitted[0]["indices"]["index"].to_numpy())]
    expected = load_booster(model.fitted[0]["booster"]).inplace_predict(dense[:, kept], predict_type="margin")
    np.testing.assert_array_equal(margins(model, dataset(local)), expected.astype(float))


@pytest.mark.thorough
def test_a_ranker_brings_the_vectors_of_a_group_together(local):
    rows = table(group=np.arange(ROWS) % 20)
    options: dict[str, Any] = {"group": "group", "features": VECTOR, "num_boost_round": 3, "max_depth": 2}
    stage = st.XGBoostRanker(
        "label", objective="rank:pairwise", params={"lambdarank_num_pair_per_sample": 50}, **options
    )
    found = Pipeline(stage).fit(dataset(local, rows)).transform(dataset(local, rows)).to_arrow()["prediction"]
    order = np.argsort(np.arange(ROWS) % 20, kind="stable")
    data = xgb.QuantileDMatrix(MATRIX[order].astype(np.float32), label=LABEL[order], qid=np.sort(np.arange(ROWS) % 20))
    settings = {"objective": "rank:pairwise", "lambdarank_num_pair_per_sample": 50, "max_depth": 2, "nthread": 1}
    expected = xgb.train(settings, data, 3).inplace_predict(MATRIX.astype(np.float32))
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.thorough
def test_validation_data_may_have_what_training_data_has_not(local):
    more = scipy.sparse.hstack([MATRIX, scipy.sparse.csr_matrix(np.ones((ROWS, 9)))], format="csr")
    data, other = dataset(local), dataset(local, table(more))
    fitted = Pipeline(classifier(early_stopping_rounds=2)).fit(data, validation=other).fitted[0]
    assert max(fitted["indices"]["index"].to_pylist()) < SIZE
    assert len(fitted["history"]["logloss"]) > 1


def spread(matrix: Any, step: int = 1_000_003) -> Any:
    """Return a matrix whose column `n` is at 5 + `n` * `step`."""
    kept = matrix.data, (5 + matrix.indices * step).astype(np.int64), matrix.indptr
    return scipy.sparse.csr_matrix(kept, shape=(matrix.shape[0], 6 + matrix.shape[1] * step))


@pytest.mark.thorough
def test_a_vector_costs_what_its_indices_cost_however_long_it_is(model, local):
    data = dataset(local, table(spread(MATRIX)))
    longer = Pipeline(classifier()).fit(data)
    np.testing.assert_array_equal(margins(longer, data), margins(model, dataset(local)))
    fitted, short = longer.fitted[0], model.fitted[0]
    assert fitted["booster"] == short["booster"]
    found, expected = (each["indices"]["index"].to_numpy() for each in (fitted, short))
    np.testing.assert_array_equal(found, 5 + 1_000_003 * expected)


def test_the_model_has_the_features_that_its_trees_look_at_by_their_own_index(local):
    data = dataset(local, table(spread(MATRIX)))
    fitted = (fit := Pipeline(classifier()).fit(data)).fitted[0]
    expected = oracle(whole(), LABEL, {"objective": "binary:logistic"}).get_score(importance_type="weight")
    places = {int(name[1:]): score for name, score in expected.items()}
    names = {f"v[{5 + 1_000_003 * (at - 1)}]" if at else "x": score for at, score in places.items()}
    assert fit.stages[0].importances(fitted)["weight"] == names
    assert load_booster(fitted["booster"]).num_features() == 1 + len(fitted["indices"]) == len(names)


def test_a_booster_without_unused_features_scores_the_same(subtests):
    matrix, label = whole(), np.random.default_rng(5).random(ROWS)
    for parameters in (
        {"booster": "gbtree", "tree_method": "exact", "gamma": 0.3},  # XGBoost marks what it prunes
        {"booster": "dart", "rate_drop": 0.5},
        {"num_parallel_tree": 2, "subsample": 0.5},
        {"gamma": 1e9},  # no tree looks at anything
    ):
        data = xgb.DMatrix(matrix, label=label)
        booster = xgb.train({"max_depth": 5, "nthread": 1, **parameters}, data, 3)
        with subtests.test(**parameters):
            smaller, kept = without_unused(Blob("xgboost-ubj", bytes(booster.save_raw("ubj"))), 0)
            found = load_booster(smaller).inplace_predict(matrix[:, kept])
            np.testing.assert_array_equal(found, booster.inplace_predict(matrix))
            used = {int(name[1:]) for name in booster.get_score()}
            assert used <= set(kept.tolist()) < set(range(SIZE + 1))


def test_contributions_of_a_vector_are_refused():
    with pytest.raises(ConfigError, match="contributions of XGBoostClassifier"):
        classifier(contributions=True).bind(table().schema)


def test_a_value_that_xgboost_cannot_hold_is_refused(local):
    for bad, problem in (
        (np.inf, "1 values that are infinite"), (1e39, "1 values that are inf"), (np.nan, "nulls, or NaN, in its"),
    ):  # fmt: skip
        matrix = MATRIX.astype(float).copy()
        matrix.data[50] = bad
        with pytest.raises(DataValueError, match=f"column 'v_values' has {problem}"):
            Pipeline(classifier()).fit(dataset(local, table(matrix)))


@pytest.mark.cpu("one GPU is for one rank")
def test_two_ranks_have_the_features_of_both(dask):
    options = SpmdOptions(world_size=2, allow_insecure=True, timeout=60)
    model = Pipeline(classifier()).fit(dataset(dask), options=options)
    expected = oracle(whole(), LABEL, {"objective": "binary:logistic"}).inplace_predict(whole(), predict_type="margin")
    np.testing.assert_allclose(margins(model, dataset(dask)), expected, rtol=1e-4, atol=1e-5)
