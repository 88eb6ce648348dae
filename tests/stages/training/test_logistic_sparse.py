"""Logistic regression on sparse vectors: the model of the dense columns, and never a dense matrix."""

from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn import linear_model
from vector_rows import FAULTS, FEATURES, MATRIX, NUMBERS, ROWS, SIZE, VECTOR, WEIGHT, X, dataset, draw, faulty, lists

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.frames import sparse
from penstock.pipeline import Pipeline, PipelineModel
from penstock.spmd import SpmdOptions
from penstock.stages.training.exact.sums import Split
from penstock.stages.training.linear import _sparse_design
from penstock.stages.training.linear._sparse_design import add_by_column
from penstock.testing import LocalGang

TIGHT = {"tol": 1e-10, "max_iter": 2000}
PENALTIES = [(0.02, 0.0), (0.02, 1.0), (0.05, 0.5)]
DRAW = draw()
SCORE = MATRIX @ DRAW.normal(size=SIZE) + 5 * X[:, 0] + DRAW.logistic(size=ROWS)


def labels(classes: int) -> np.ndarray:
    return np.digitize(SCORE, np.linspace(-1, 1, classes - 1) if classes > 2 else [0.4])


def table(classes: int = 2, **more: Any) -> pa.Table:
    return pa.table({**dict(zip(NUMBERS, X.T, strict=True)), **lists(MATRIX), "label": labels(classes), **more})


def stage(features: tuple[str, ...] = VECTOR, **options: Any) -> st.LogisticRegression:
    return st.LogisticRegression("label", features=features, **{**TIGHT, **options})


def coefficients(model: PipelineModel, numbers: tuple[str, ...] = ()) -> np.ndarray:
    """Return the coefficients of numbers, and of all indices of the vector, one row an output."""
    fitted = model.fitted[-1]
    held = fitted["vector_coefficients"]
    found = np.zeros((len(fitted["intercepts"]), SIZE))
    found[:, held["index"].to_numpy()] = [held[str(place)].to_numpy() for place in range(len(found))]
    plain = [fitted["coefficients"][name].to_numpy()[:, None] for name in numbers]
    return np.concatenate([*plain, found], axis=1)


def scored(model: PipelineModel, data: Dataset) -> list[np.ndarray]:
    made = model.transform(data).to_arrow()
    return [np.array(made[name].to_pylist()) for name in ("rawPrediction", "probability", "prediction")]


# scikit-learn, on the same CSR matrix: C is 1 / (n * reg_param)


@pytest.mark.thorough
@pytest.mark.pairwise
@pytest.mark.parametrize(("reg_param", "l1_ratio"), PENALTIES)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_coefficients_are_those_of_scikit_learn(
    local: Engine, classes: int, reg_param: float, l1_ratio: float, weighted: bool
) -> None:
    weight = WEIGHT if weighted else np.ones(ROWS)
    oracle = linear_model.LogisticRegression(
        C=1 / (weight.sum() * reg_param), l1_ratio=l1_ratio, solver="saga" if l1_ratio else "newton-cg", tol=1e-10,
        max_iter=20_000, random_state=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newton-cg says that its line search ends in rounding
        oracle.fit(MATRIX, labels(classes), sample_weight=weight)
    options = {"reg_param": reg_param, "elastic_net_param": l1_ratio, "standardization": False}
    data = dataset(local, table(classes, w=WEIGHT))
    model = Pipeline(stage(weight="w" if weighted else None, **options)).fit(data)
    assert model.fitted[0]["converged"]
    np.testing.assert_allclose(coefficients(model), oracle.coef_, atol=1e-6)
    centred = oracle.intercept_ - (oracle.intercept_.mean() if classes > 2 else 0)
    np.testing.assert_allclose(model.fitted[0]["intercepts"], centred, atol=1e-6)
    raw, probability, prediction = scored(model, data)
    expected = oracle.predict_proba(MATRIX)
    np.testing.assert_allclose(probability, expected[:, 1] if classes == 2 else expected, atol=1e-6)
    np.testing.assert_array_equal(prediction, oracle.predict(MATRIX))
    assert raw.shape == probability.shape


# MLlib, on the same vectors, which it takes as SparseVector


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize(
    ("classes", "reg_param", "l1_ratio", "standardization", "fit_intercept", "weighted"),
    [
        (2, 0.05, 0.0, True, True, True),
        (2, 0.05, 0.0, False, True, False),
        (2, 0.02, 0.5, True, True, False),
        (2, 0.05, 0.0, True, False, True),
        (3, 0.05, 0.0, True, True, False),
        (3, 0.02, 1.0, True, True, True),
        (3, 0.05, 0.0, False, False, False),
    ],
)
def test_everything_is_as_in_mllib(
    local: Engine, spark: Any, classes: int, reg_param: float, l1_ratio: float, standardization: bool,
    fit_intercept: bool, weighted: bool,
) -> None:  # fmt: skip
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.linalg import Vectors

    held = np.split(np.arange(MATRIX.nnz), MATRIX.indptr[1:-1])
    vectors = [Vectors.sparse(SIZE, MATRIX.indices[each].tolist(), MATRIX.data[each].tolist()) for each in held]
    rows = list(zip(vectors, labels(classes).astype(float).tolist(), WEIGHT.tolist(), strict=True))
    given = spark.createDataFrame(rows, ["features", "label", "w"]).coalesce(1).cache()
    theirs = LogisticRegression(
        maxIter=1000, tol=1e-14, regParam=reg_param, elasticNetParam=l1_ratio, standardization=standardization,
        fitIntercept=fit_intercept, **({"weightCol": "w"} if weighted else {}),
    ).fit(given)  # fmt: skip
    options = {"standardization": standardization, "fit_intercept": fit_intercept, "weight": "w" if weighted else None}
    model = Pipeline(stage(reg_param=reg_param, elastic_net_param=l1_ratio, **options)).fit(
        dataset(local, table(classes, w=WEIGHT))
    )
    assert model.fitted[0]["converged"]
    np.testing.assert_allclose(coefficients(model), theirs.coefficientMatrix.toArray(), atol=1e-5)
    np.testing.assert_allclose(model.fitted[0]["intercepts"], theirs.interceptVector.toArray(), atol=1e-5)
    objective = theirs.summary.objectiveHistory[-1]
    assert model.fitted[0]["objective_history"][-1] == pytest.approx(objective, rel=1e-9)
    assert model.fitted[0]["objective_history"][-1] <= objective + 1e-12


# The dense columns: the same objective, whose minimum both find to their tolerance


@pytest.mark.thorough
@pytest.mark.pairwise
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("standardization", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(("reg_param", "l1_ratio"), PENALTIES)
def test_the_model_is_that_of_dense_columns(
    local: Engine, classes: int, standardization: bool, fit_intercept: bool, reg_param: float, l1_ratio: float
) -> None:
    options = {
        "reg_param": reg_param, "elastic_net_param": l1_ratio, "standardization": standardization,
        "fit_intercept": fit_intercept, "weight": "w",
    }  # fmt: skip
    columns = {f"f{place:02}": MATRIX[:, [place]].toarray()[:, 0] for place in range(SIZE)}
    wide = pa.table({**dict(zip(NUMBERS, X.T, strict=True)), **columns, "label": labels(classes), "w": WEIGHT})
    dense = Pipeline(stage((*NUMBERS, *columns), **options)).fit(dataset(local, wide)).fitted[0]
    model = Pipeline(stage(FEATURES, **options)).fit(dataset(local, table(classes, w=WEIGHT)))
    expected = np.array([dense["coefficients"][name].to_numpy() for name in (*NUMBERS, *columns)]).T
    assert model.fitted[0]["converged"]
    found = model.fitted[0]["objective_history"]
    assert found[0] == pytest.approx(dense["objective_history"][0], rel=1e-12)
    assert found[-1] == pytest.approx(dense["objective_history"][-1], rel=1e-12)
    # Gradients are below 1e-10 and the Hessian, in standardised features, is above the penalty's 0.02 / 3**2.
    scale = np.append(X.std(axis=0), np.ones(SIZE))
    np.testing.assert_allclose(coefficients(model, NUMBERS) * scale, expected * scale, atol=1e-7)
    np.testing.assert_allclose(model.fitted[0]["intercepts"], dense["intercepts"], atol=1e-5)


@pytest.mark.thorough
def test_a_feature_far_from_zero_in_every_row_costs_few_digits(local: Engine) -> None:
    near = np.round(DRAW.normal(size=ROWS), 3)
    label = (near + DRAW.logistic(size=ROWS) > 0).astype(int)
    models = []
    for shift in (0.0, 1e5):
        rows = pa.table({**lists(scipy.sparse.csr_matrix((near + shift)[:, None])), "label": label})
        models.append(Pipeline(stage(reg_param=0.01)).fit(dataset(local, rows, 2000)).fitted[0])
    first, second = (model["vector_coefficients"]["0"].to_pylist() for model in models)
    assert second == pytest.approx(first, rel=1e-8)


@pytest.mark.thorough
def test_what_has_one_value_in_all_rows_has_no_coefficient_and_is_named(local: Engine) -> None:
    ones = scipy.sparse.hstack([MATRIX, np.full((ROWS, 1), 0.1)], format="csr")
    rows = pa.table({"a": np.full(ROWS, 0.1), **lists(ones), "label": labels(2)})
    fitted = Pipeline(stage(("a", *VECTOR), reg_param=0.1)).fit(dataset(local, rows)).fitted[0]
    assert fitted["constant_features"] == ["a", f"v[{SIZE}]"]
    assert fitted["coefficients"]["a"].to_pylist() == [0.0]
    assert SIZE not in fitted["vector_coefficients"]["index"].to_pylist()


@pytest.mark.thorough
def test_rows_of_weight_0_are_as_if_absent(local: Engine) -> None:
    weight = np.where(np.arange(ROWS) % 3 == 0, 0.0, 1.0)
    kept = weight > 0
    options = {"reg_param": 0.02}
    weighted = Pipeline(stage(FEATURES, weight="w", **options)).fit(dataset(local, table(w=weight)))
    without = Pipeline(stage(FEATURES, **options)).fit(dataset(local, table().filter(pa.array(kept))))
    scale = np.append(X.std(axis=0), np.ones(SIZE))
    np.testing.assert_allclose(
        coefficients(weighted, NUMBERS) * scale, coefficients(without, NUMBERS) * scale, atol=1e-8
    )


# Partitions, threads, ranks and engines


@pytest.mark.thorough
@pytest.mark.parametrize("classes", [2, 3])
def test_fragments_and_threads_change_no_bit(local: Engine, monkeypatch: pytest.MonkeyPatch, classes: int) -> None:
    monkeypatch.setattr(_sparse_design, "_ENTRIES", 100)  # several parts for each thread
    models = []
    for size, threads in ((3_000, 1), (3_000, 3), (20_000, 2)):
        monkeypatch.setattr("penstock.devices.usable_cores", lambda threads=threads: threads)
        data = dataset(local, table(classes, w=WEIGHT), size)
        models.append(Pipeline(stage(FEATURES, weight="w", reg_param=0.02)).fit(data).fitted[0])
    assert models[0] == models[1] == models[2]


@pytest.mark.thorough
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("size", [2, 3, 7])
def test_every_rank_of_any_number_learns_the_same_to_the_bit(local: Engine, size: int, classes: int) -> None:
    trainer = stage(FEATURES, weight="w", reg_param=0.02, elastic_net_param=0.3, tol=1e-6)
    data = dataset(local, table(classes, w=WEIGHT))
    alone = Pipeline(trainer).fit(data).fitted[0]
    assert LocalGang(size, shuffle_sums=True).train(trainer, data) == [alone] * size


@pytest.mark.thorough
def test_a_rank_without_rows_takes_part(local: Engine) -> None:
    rows, half = table().sort_by("a"), float(np.median(X[:, 0]))  # of three ranks, the first is left without rows
    trainer, data = stage(FEATURES, reg_param=0.02), dataset(local, rows).filter(nw.col("a") > half)
    assert LocalGang(3, shuffle_sums=True).train(trainer, data) == [Pipeline(trainer).fit(data).fitted[0]] * 3


@pytest.mark.cpu("one GPU is for one rank")
@pytest.mark.parametrize("name", ["dask", "spark"])
def test_every_engine_gives_the_model_of_one_rank_to_the_bit(
    request: pytest.FixtureRequest, engines: Any, local: Engine, name: str
) -> None:
    if name not in request.config.getoption("--engines"):
        pytest.skip(f"{name} is not among --engines")
    trainer, rows = stage(FEATURES, weight="w", reg_param=0.02), table(3, w=WEIGHT)
    alone = Pipeline(trainer).fit(dataset(local, rows))
    other = Pipeline(trainer).fit(dataset(engines.get(name), rows), options=SpmdOptions(world_size=2))
    assert other.fitted[0] == alone.fitted[0]
    assert other.digest == alone.digest
    theirs = other.transform(dataset(engines.get(name), rows)).to_arrow()
    assert theirs.equals(alone.transform(dataset(local, rows)).to_arrow())


def test_sums_by_column_are_equal_to_the_bit_in_any_order() -> None:
    rows, draw = 3000, np.random.default_rng(3)
    x = scipy.sparse.random(rows, 5, 0.6, format="csr", random_state=1)
    terms = draw.normal(size=x.nnz) * 10.0 ** draw.integers(-12, 3, x.nnz)
    split = Split.of(np.abs(terms).max(keepdims=True), rows)
    whole, shuffled, order = np.zeros((2, 5)), np.zeros((2, 5)), draw.permutation(rows)
    add_by_column(split, x, terms.copy(), whole)
    numbered = scipy.sparse.csr_matrix((np.arange(float(x.nnz)), x.indices, x.indptr), shape=x.shape)
    for part in np.array_split(order, 7):
        chosen = numbered[part]
        add_by_column(split, chosen, terms[chosen.data.astype(int)], shuffled)
    np.testing.assert_array_equal(shuffled, whole)


# Texts


@pytest.mark.thorough
def test_texts_become_classes_without_a_dense_matrix(local: Engine, tmp_path: Any) -> None:
    words = np.array([f"word{place}" for place in range(300)])
    draw = np.random.default_rng(6)
    label = draw.integers(0, 2, ROWS)
    texts = [" ".join(draw.choice(words[100 * kind :][:200], 12)) for kind in label]
    data = dataset(local, pa.table({"text": texts, "label": label}))
    hashed = st.HashingTF("text", num_features=2**18, output_columns=["tf"])
    trainer = st.LogisticRegression("label", features=sparse.columns("tf"), reg_param=0.01)
    tracemalloc.start()
    try:
        model = Pipeline(st.Tokenizer("text"), hashed, st.IDF("tf"), trainer).fit(data)
        made = model.transform(data).to_arrow()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < ROWS * 2**18  # a dense matrix is eight times as large
    assert model.fitted[-1]["vector_coefficients"].num_rows <= 300
    assert np.mean(made["prediction"].to_numpy() == label) > 0.9
    model.save(tmp_path / "model")
    again = PipelineModel.load(tmp_path / "model")
    assert again.digest == model.digest
    assert again.predict({"text": texts[0]})["probability"] == made["probability"][0].as_py()


# Scoring


@pytest.mark.thorough
@pytest.mark.parametrize("classes", [2, 3])
def test_a_row_by_itself_is_scored_the_same(local: Engine, classes: int) -> None:
    model = Pipeline(stage(FEATURES, reg_param=0.02)).fit(dataset(local, table(classes)))
    together = model.transform(dataset(local, table(classes))).to_arrow()["rawPrediction"].to_pylist()
    assert [model.predict(row)["rawPrediction"] for row in table(classes).to_pylist()[:20]] == together[:20]


@pytest.mark.thorough
@pytest.mark.parametrize("classes", [2, 3])
def test_a_row_without_a_vector_or_a_number_has_nulls(local: Engine, classes: int) -> None:
    model = Pipeline(stage(FEATURES, reg_param=0.02)).fit(dataset(local, table(classes)))
    first = table(classes).slice(0, 3).to_pylist()
    holes = [first[0], {**first[1], "v_indices": None, "v_values": None}, {**first[2], "b": None}]
    whole = model.transform(local.from_arrow(pa.Table.from_pylist(first, table().schema))).to_arrow()
    found = model.transform(local.from_arrow(pa.Table.from_pylist(holes, table().schema))).to_arrow()
    for name in ("rawPrediction", "probability", "prediction"):
        assert found[name].to_pylist() == [whole[name][0].as_py(), None, None]
        assert found.schema.field(name).type == whole.schema.field(name).type


@pytest.mark.thorough
@pytest.mark.parametrize("classes", [2, 3])
def test_no_rows_are_scored_as_none(local: Engine, classes: int) -> None:
    model = Pipeline(stage(FEATURES, reg_param=0.02)).fit(dataset(local, table(classes)))
    assert model.transform(local.from_arrow(table(classes).slice(0, 0))).to_arrow().num_rows == 0


@pytest.mark.thorough
def test_indices_that_training_had_not_count_for_nothing(local: Engine) -> None:
    model = Pipeline(stage(reg_param=0.02)).fit(dataset(local, table()))
    longer = scipy.sparse.hstack([MATRIX, np.ones((ROWS, 3))], format="csr")
    rows = pa.table({**lists(longer), "label": labels(2)})
    np.testing.assert_array_equal(scored(model, dataset(local, rows))[0], scored(model, dataset(local, table()))[0])


@pytest.mark.thorough
def test_a_penalty_that_leaves_no_coefficient_leaves_the_odds_of_the_classes(local: Engine) -> None:
    model = Pipeline(stage(reg_param=10.0, elastic_net_param=1.0)).fit(dataset(local, table()))
    assert model.fitted[0]["vector_coefficients"].num_rows == 0
    share = labels(2).mean()
    np.testing.assert_allclose(scored(model, dataset(local, table()))[1], share, rtol=1e-12)


# What is refused


@pytest.mark.thorough
@pytest.mark.parametrize(("given", "message"), FAULTS, ids=str)
@pytest.mark.parametrize("when", ["fit", "predict"])
def test_rows_that_hold_no_vector_are_refused_with_their_place(
    local: Engine, given: tuple[Any, Any], message: str, when: str
) -> None:
    data = dataset(local, faulty(table(), 333, *given))
    with pytest.raises(DataValueError, match=message) as caught:
        if when == "fit":
            Pipeline(stage()).fit(data)
        else:
            Pipeline(stage(max_iter=1)).fit(dataset(local, table())).transform(data).to_arrow()
    assert (caught.value.row, caught.value.stage) == (333, "LogisticRegression")
    assert f"column {caught.value.column!r}" in message
    assert caught.value.path is not None


def test_rows_without_a_vector_are_refused_at_fit_with_their_place(local: Engine) -> None:
    with pytest.raises(
        DataValueError, match="'v_indices' has 1 values that are null, expected a vector in every row"
    ) as e:
        Pipeline(stage()).fit(dataset(local, faulty(table(), 333, None, None)))
    assert (e.value.column, e.value.row) == ("v_indices", 333)


@pytest.mark.parametrize(("value", "message"), [(None, "null"), (np.inf, "infinite"), (1e200, "too large")], ids=str)
def test_numbers_beside_a_vector_are_checked(local: Engine, value: float | None, message: str) -> None:
    rows = table().to_pylist()
    rows[33]["b"] = value
    with pytest.raises(DataValueError, match=f"column 'b' has 1 values that are {message}") as caught:
        Pipeline(stage(FEATURES)).fit(dataset(local, pa.Table.from_pylist(rows, table().schema)))
    assert caught.value.row == 33


def test_vectors_that_are_all_empty_are_refused(local: Engine) -> None:
    empty = scipy.sparse.csr_matrix((ROWS, SIZE))
    with pytest.raises(DataValueError, match="column 'v_indices' has no index in any of its lists"):
        Pipeline(stage()).fit(local.from_arrow(pa.table({**lists(empty), "label": labels(2)})))


def test_weights_that_are_all_0_are_refused(local: Engine) -> None:
    with pytest.raises(DataValueError, match="all weights in column 'w' are 0"):
        Pipeline(stage(weight="w")).fit(dataset(local, table(w=np.zeros(ROWS))))


@pytest.mark.parametrize("features", [("a", "v_indices"), (*VECTOR, "u_indices", "u_values")])
def test_lists_that_are_not_one_vector_are_refused(features: tuple[str, ...]) -> None:
    with pytest.raises(SchemaError, match="the two columns of one sparse vector"):
        stage(features).bind(pa.schema([*table().schema, *sparse.fields(["u"]).items()]))


def test_lists_are_no_features_unless_named() -> None:
    assert st.LogisticRegression("label").bind(table().schema).inputs() == NUMBERS


@pytest.mark.parametrize(
    "other",
    [
        st.LinearRegressionCV("label", features=VECTOR),
        st.GeneralizedLinearRegression("label", features=VECTOR),
        st.RandomForestClassifier("label", features=VECTOR),
        st.KMeans(features=VECTOR),
    ],
    ids=lambda each: each.title,
)
def test_others_refuse_a_vector_before_reading_and_say_what_takes_one(other: Any) -> None:
    with pytest.raises(SchemaError, match=f"of a sparse vector, which {other.title} does not take") as caught:
        other.bind(table().schema)
    assert "LinearRegression, LogisticRegression, NaiveBayes and XGBoost" in str(caught.value.hint)


def test_a_label_among_the_features_is_still_refused() -> None:
    with pytest.raises(ConfigError, match="label 'label' is among the features"):
        stage((*VECTOR, "label")).bind(table().schema)
