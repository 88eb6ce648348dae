"""Linear regression on sparse vectors: the model of the dense columns, and never a dense matrix."""

from __future__ import annotations

import math
import tracemalloc
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn import linear_model, metrics
from vector_rows import FAULTS, FEATURES, MATRIX, NUMBERS, ROWS, SIZE, VECTOR, WEIGHT, X, dataset, draw, faulty, lists

from penstock import stages as st
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.frames import sparse
from penstock.pipeline import Pipeline, PipelineModel
from penstock.spmd import SpmdOptions
from penstock.stages.training.linear import _sparse_design
from penstock.testing import LocalGang

TIGHT = {"tol": 1e-11, "max_iter": 3000}
DRAW = draw()
WHOLE = np.hstack([X, MATRIX.toarray()])
SCALE = WHOLE.std(axis=0)
Y = MATRIX @ DRAW.normal(size=SIZE) * 3 + 5 * X[:, 0] + DRAW.normal(size=ROWS) + 20


def table(**more: Any) -> pa.Table:
    return pa.table({**dict(zip(NUMBERS, X.T, strict=True)), **lists(MATRIX), "y": Y, **more})


def stage(features: tuple[str, ...] = VECTOR, **options: Any) -> st.LinearRegression:
    return st.LinearRegression("y", features=features, **{**TIGHT, **options})


def fitted(engine: Engine, rows: pa.Table, features: tuple[str, ...] = VECTOR, **options: Any) -> Any:
    """Fit, and return what was learned, of a training that has converged."""
    found = Pipeline(stage(features, **options)).fit(dataset(engine, rows)).fitted[0]
    assert found["converged"]
    return found


def coefficients(found: Any, size: int = SIZE) -> np.ndarray:
    """Return the coefficients of numbers, and of all indices of the vector."""
    held = found["vector_coefficients"]
    of_vector = np.zeros(size)
    of_vector[held["index"].to_numpy()] = held["0"].to_numpy()
    return np.append(found["coefficients"], of_vector)


def deviation(label: np.ndarray, weight: np.ndarray) -> float:
    return math.sqrt(np.average((label - np.average(label, weights=weight)) ** 2, weights=weight))


# scikit-learn, on the same CSR matrix


@pytest.mark.pairwise
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("alpha", "l1_ratio"), [(0.0, 0.0), (0.2, 0.0), (0.2, 0.5), (0.1, 1.0)])
def test_coefficients_are_those_of_scikit_learn(
    local: Engine, alpha: float, l1_ratio: float, weighted: bool, fit_intercept: bool
) -> None:
    weight = WEIGHT if weighted else np.ones(ROWS)
    total, spread = weight.sum(), deviation(Y, weight)
    options: dict[str, float] = {}
    if not alpha:
        oracle = linear_model.LinearRegression(fit_intercept=fit_intercept, tol=1e-14)
    elif not l1_ratio:
        oracle = linear_model.Ridge(alpha * total, fit_intercept=fit_intercept, tol=1e-14, max_iter=10_000)
        options = {"reg_param": alpha * spread}
    else:
        oracle = linear_model.ElasticNet(
            alpha, l1_ratio=l1_ratio, fit_intercept=fit_intercept, tol=1e-14, max_iter=100_000
        )
        reg_param = alpha * (l1_ratio + (1 - l1_ratio) * spread)
        options = {"reg_param": reg_param, "elastic_net_param": alpha * l1_ratio / reg_param}
    oracle.fit(MATRIX, Y, sample_weight=weight)
    found = fitted(
        local, table(w=WEIGHT), weight="w" if weighted else None, standardization=False,
        fit_intercept=fit_intercept, **options,
    )  # fmt: skip
    np.testing.assert_allclose(coefficients(found), oracle.coef_, atol=1e-7)
    np.testing.assert_allclose(found["intercept"], oracle.intercept_, atol=1e-7)
    assert (coefficients(found) == 0).sum() == (oracle.coef_ == 0).sum()


@pytest.mark.thorough
@pytest.mark.parametrize("weighted", [True, False])
def test_quality_is_that_of_the_predictions(local: Engine, weighted: bool) -> None:
    model = Pipeline(stage(FEATURES, weight="w" if weighted else None)).fit(dataset(local, table(w=WEIGHT)))
    made = model.transform(dataset(local, table(w=WEIGHT))).to_arrow()["prediction"].to_numpy()
    weight = WEIGHT if weighted else np.ones(ROWS)
    error = metrics.mean_squared_error(Y, made, sample_weight=weight)
    summary, total = model.fitted[0]["summary"], weight.sum()
    # Of rows that have weights, MLlib compares with the unbiased variance times the sum of the weights less 1.
    whole = deviation(Y, weight) ** 2 / (1 - (weight**2).sum() / total**2) * (total - 1)
    assert summary["num_instances"] == ROWS
    assert summary["rmse"] == pytest.approx(math.sqrt(error), rel=1e-12)
    assert summary["r2"] == pytest.approx(1 - error * total / whole, rel=1e-12)


# The closed form, of standardised features


@pytest.mark.thorough
@pytest.mark.parametrize("standardization", [True, False])
def test_ridge_is_the_solution_of_the_normal_equations(local: Engine, standardization: bool) -> None:
    total = WEIGHT.sum()
    x, y = (each - np.average(each, axis=0, weights=WEIGHT) for each in (WHOLE, Y))
    spread = np.sqrt((x**2 * WEIGHT[:, None]).sum(axis=0) / total)
    punished = np.diag(spread**2 if standardization else np.ones(len(spread)))
    matrix = x.T @ (x * WEIGHT[:, None]) / total + 0.3 / deviation(Y, WEIGHT) * punished
    expected = np.linalg.solve(matrix, x.T @ (y * WEIGHT) / total)
    found = fitted(
        local, table(w=WEIGHT), FEATURES, weight="w", reg_param=0.3, standardization=standardization
    )  # fmt: skip
    np.testing.assert_allclose(coefficients(found) * spread, expected * spread, atol=1e-8)
    middle = np.average(Y - WHOLE @ expected, weights=WEIGHT)
    assert found["intercept"] == pytest.approx(middle, abs=1e-6)  # the mean of b is 16 of its deviations


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_by_default_eight_digits_are_those_of_the_closed_form(local: Engine, fit_intercept: bool) -> None:
    oracle = linear_model.LinearRegression(fit_intercept=fit_intercept).fit(WHOLE, Y)
    model = Pipeline(st.LinearRegression("y", features=FEATURES, fit_intercept=fit_intercept)).fit(
        dataset(local, table())
    )
    found = model.fitted[0]
    assert found["converged"]
    np.testing.assert_allclose(coefficients(found) * SCALE / Y.std(), oracle.coef_ * SCALE / Y.std(), atol=1e-8)


@pytest.mark.thorough
def test_two_numbers_that_nearly_explain_each_other_are_told_apart(local: Engine) -> None:
    near = X[:, 0] + DRAW.normal(size=ROWS) * 1e-4  # a thousandth of the deviation
    oracle = linear_model.LinearRegression().fit(np.column_stack([WHOLE, near]), Y)
    found = Pipeline(st.LinearRegression("y", features=("a", "b", "near", *VECTOR))).fit(
        dataset(local, table(near=near))
    )
    np.testing.assert_allclose(found.fitted[0]["coefficients"], [*oracle.coef_[:2], oracle.coef_[-1]], rtol=1e-5)


def test_features_that_explain_each_other_get_the_coefficients_of_least_norm(local: Engine) -> None:
    wide = scipy.sparse.random(40, 90, 0.2, format="csr", random_state=4)
    wide.sort_indices()
    y = DRAW.normal(size=40)
    data = local.from_arrow(pa.table({**lists(wide), "y": y}), fragment_bytes=1000)
    found = Pipeline(stage()).fit(data).fitted[0]
    dense = wide.toarray()
    scale = dense.std(axis=0)
    standard = (dense - dense.mean(axis=0)) / np.where(scale == 0, 1, scale)
    np.testing.assert_allclose(
        coefficients(found, 90) * scale, np.linalg.pinv(standard) @ (y - y.mean()), atol=1e-7
    )  # fmt: skip
    assert found["summary"]["rmse"] < 1e-9


# MLlib, on the same vectors, which it takes as SparseVector


@pytest.fixture(scope="module")
def spark_frame(request: pytest.FixtureRequest, engines: Any) -> Any:
    if "spark" not in request.config.getoption("--engines"):
        pytest.skip("spark is not among --engines")
    from pyspark.ml.linalg import Vectors

    held = np.split(np.arange(MATRIX.nnz), MATRIX.indptr[1:-1])
    vectors = [Vectors.sparse(SIZE, MATRIX.indices[each].tolist(), MATRIX.data[each].tolist()) for each in held]
    rows = list(zip(vectors, Y.tolist(), WEIGHT.tolist(), strict=True))
    return engines.get("spark").session.createDataFrame(rows, ["features", "y", "w"]).coalesce(1).cache()


@pytest.mark.spark
@pytest.mark.parametrize(
    ("reg_param", "share", "standardization", "fit_intercept", "weighted"),
    [
        (0.0, 0.0, True, True, True),
        (0.3, 0.0, True, True, True),
        (0.3, 0.0, False, True, False),
        (0.3, 0.5, True, True, True),
        (0.3, 0.5, False, True, False),
        (0.3, 1.0, True, False, False),
        (0.3, 0.0, True, False, True),
    ],
)
def test_everything_is_as_in_mllib(
    local: Engine, spark_frame: Any, reg_param: float, share: float, standardization: bool, fit_intercept: bool,
    weighted: bool,
) -> None:  # fmt: skip
    from pyspark.ml.regression import LinearRegression

    theirs = LinearRegression(
        labelCol="y", regParam=reg_param, elasticNetParam=share, standardization=standardization, tol=1e-12,
        fitIntercept=fit_intercept, maxIter=1000, **({"weightCol": "w"} if weighted else {}),
    ).fit(spark_frame)  # fmt: skip
    found = fitted(
        local, table(w=WEIGHT), weight="w" if weighted else None, reg_param=reg_param, elastic_net_param=share,
        standardization=standardization, fit_intercept=fit_intercept,
    )  # fmt: skip
    np.testing.assert_allclose(coefficients(found), theirs.coefficients.toArray(), atol=1e-5)
    assert found["intercept"] == pytest.approx(theirs.intercept, abs=1e-5)
    assert found["summary"]["rmse"] == pytest.approx(theirs.summary.rootMeanSquaredError, rel=1e-6)
    assert found["summary"]["r2"] == pytest.approx(theirs.summary.r2, abs=1e-6)
    assert found["summary"]["num_instances"] == theirs.summary.numInstances


@pytest.mark.spark
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_mllibs_other_solver_takes_the_deviations_of_a_sample(local: Engine, spark_frame: Any, share: float) -> None:
    from pyspark.ml.regression import LinearRegression

    options = {"regParam": 0.3, "elasticNetParam": share, "tol": 1e-12, "maxIter": 1000}
    theirs = LinearRegression(labelCol="y", solver="l-bfgs", **options).fit(spark_frame)
    reg_param = 0.3 * math.sqrt(ROWS / (ROWS - 1))
    found = fitted(local, table(), reg_param=reg_param, elastic_net_param=share)
    np.testing.assert_allclose(coefficients(found), theirs.coefficients.toArray(), atol=1e-5)


# The dense columns: the same objective, whose minimum is solved for there


@pytest.mark.thorough
@pytest.mark.pairwise
@pytest.mark.parametrize("standardization", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize(("reg_param", "share"), [(0.0, 0.0), (0.3, 0.0), (0.3, 0.5), (0.3, 1.0)])
def test_the_model_is_that_of_dense_columns(
    local: Engine, reg_param: float, share: float, fit_intercept: bool, standardization: bool
) -> None:
    options = {
        "reg_param": reg_param, "elastic_net_param": share, "fit_intercept": fit_intercept,
        "standardization": standardization, "weight": "w",
    }  # fmt: skip
    columns = {f"f{place:02}": MATRIX[:, [place]].toarray()[:, 0] for place in range(SIZE)}
    wide = pa.table({**dict(zip(NUMBERS, X.T, strict=True)), **columns, "y": Y, "w": WEIGHT})
    dense = Pipeline(stage((*NUMBERS, *columns), **options)).fit(dataset(local, wide)).fitted[0]
    found = fitted(local, table(w=WEIGHT), FEATURES, **options)
    expected = np.array(dense["coefficients"])
    np.testing.assert_allclose(coefficients(found) * SCALE, expected * SCALE, atol=1e-8)
    assert found["intercept"] == pytest.approx(dense["intercept"], abs=1e-6)
    for name in ("rmse", "r2"):
        assert found["summary"][name] == pytest.approx(dense["summary"][name], rel=1e-9)
    np.testing.assert_array_equal(coefficients(found) == 0, expected == 0)


@pytest.mark.thorough
def test_a_feature_and_a_label_far_from_zero_cost_few_digits(local: Engine) -> None:
    near = np.round(DRAW.normal(size=ROWS), 3)
    y = np.round(near + DRAW.normal(size=ROWS), 3)
    slopes = []
    for shift in (0.0, 1e5):
        rows = pa.table({**lists(scipy.sparse.csr_matrix((near + shift)[:, None])), "y": y + 10 * shift})
        found = Pipeline(stage(reg_param=0.01)).fit(dataset(local, rows, 2000)).fitted[0]
        slopes.append(found["vector_coefficients"]["0"].to_pylist())
    assert slopes[1] == pytest.approx(slopes[0], rel=1e-8)


@pytest.mark.thorough
def test_what_has_one_value_in_all_rows_has_no_coefficient_and_is_named(local: Engine) -> None:
    ones = scipy.sparse.hstack([MATRIX, np.full((ROWS, 1), 0.1)], format="csr")
    rows = pa.table({"a": np.full(ROWS, 0.1), **lists(ones), "y": Y})
    for fit_intercept in (True, False):
        found = fitted(local, rows, ("a", *VECTOR), reg_param=0.1, fit_intercept=fit_intercept)
        assert found["constant"] == ["a", f"v[{SIZE}]"]
        assert found["coefficients"] == [0.0]
        assert SIZE not in found["vector_coefficients"]["index"].to_pylist()


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_a_constant_label_is_the_intercept(local: Engine, share: float) -> None:
    found = fitted(local, table(y=np.full(ROWS, 0.1)), FEATURES, reg_param=0.1, elastic_net_param=share)
    assert found["intercept"] == 0.1
    assert not coefficients(found).any()
    assert (found["summary"]["rmse"], found["summary"]["r2"]) == (0.0, None)


def test_a_penalty_of_a_constant_label_without_intercept_is_refused(local: Engine) -> None:
    with pytest.raises(DataValueError, match="label 'y' is constant, so that a penalty has no scale"):
        Pipeline(stage(reg_param=0.1, fit_intercept=False)).fit(dataset(local, table(y=np.full(ROWS, 0.1))))


def test_one_row_is_an_intercept(local: Engine) -> None:
    model = Pipeline(stage(FEATURES)).fit(local.from_arrow(table().slice(3, 1)))
    assert model.fitted[0]["intercept"] == Y[3]
    assert model.fitted[0]["summary"] == {"num_instances": 1, "rmse": 0.0, "r2": None}


@pytest.mark.thorough
def test_rows_of_weight_0_are_as_if_absent_however_large_their_numbers(local: Engine) -> None:
    weight = np.where(np.arange(ROWS) % 3 == 0, 0.0, WEIGHT)
    absent = weight == 0
    rows = table(w=weight, y=np.where(absent, 1e149, Y), a=np.where(absent, -1e149, X[:, 0]))
    options = {"weight": "w", "reg_param": 0.2, "elastic_net_param": 0.2}
    found = fitted(local, rows, FEATURES, **options)
    assert found == fitted(local, table(w=weight).filter(pa.array(~absent)), FEATURES, **options)


def test_a_penalty_that_leaves_no_coefficient_leaves_the_mean(local: Engine) -> None:
    model = Pipeline(stage(reg_param=1e3, elastic_net_param=1.0)).fit(dataset(local, table()))
    assert model.fitted[0]["vector_coefficients"].num_rows == 0
    made = model.transform(dataset(local, table())).to_arrow()["prediction"].to_numpy()
    np.testing.assert_allclose(made, Y.mean(), rtol=1e-13)


# Partitions, threads, ranks and engines


@pytest.mark.thorough
def test_fragments_and_threads_change_no_bit(local: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sparse_design, "_ENTRIES", 100)  # several parts for each thread
    models = []
    for size, threads in ((3_000, 1), (3_000, 3), (20_000, 2)):
        monkeypatch.setattr("penstock.devices.usable_cores", lambda threads=threads: threads)
        data = dataset(local, table(w=WEIGHT), size)
        models.append(Pipeline(stage(FEATURES, weight="w", reg_param=0.02)).fit(data).fitted[0])
    assert models[0] == models[1] == models[2]


@pytest.mark.thorough
@pytest.mark.parametrize("share", [0.0, 0.5])
@pytest.mark.parametrize("size", [2, 3, 7])
def test_every_rank_of_any_number_learns_the_same_to_the_bit(local: Engine, size: int, share: float) -> None:
    trainer = stage(FEATURES, weight="w", reg_param=0.02, elastic_net_param=share, tol=1e-6)
    data = dataset(local, table(w=WEIGHT))
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
    trainer, rows = stage(FEATURES, weight="w", reg_param=0.02), table(w=WEIGHT)
    alone = Pipeline(trainer).fit(dataset(local, rows))
    other = Pipeline(trainer).fit(dataset(engines.get(name), rows), options=SpmdOptions(world_size=2))
    assert other.fitted[0] == alone.fitted[0]
    theirs = other.transform(dataset(engines.get(name), rows)).to_arrow()
    assert theirs.equals(alone.transform(dataset(local, rows)).to_arrow())


@pytest.mark.thorough
def test_a_training_goes_on_from_its_checkpoint(local: Engine) -> None:
    data, gang = dataset(local, table()), LocalGang(1, options=SpmdOptions(checkpoint_interval=2))
    undisturbed, checkpoints = gang.train(stage(FEATURES), data), gang.checkpoints
    assert [each.rounds for each in checkpoints[:2]] == [2, 4]
    assert gang.train(stage(FEATURES), data, checkpoint=checkpoints[1]) == undisturbed
    assert gang.reports[0][0][0] == 5


# How it is trained


def test_what_has_not_converged_says_so(local: Engine) -> None:
    model = Pipeline(stage(FEATURES, max_iter=3)).fit(dataset(local, table()))
    found = model.fitted[0]
    assert (found["converged"], found["iterations"]) == (False, 3)
    assert model.report.notes == ["LinearRegression: not converged after 3 iterations; raise max_iter or tol"]
    history = found["objective_history"]
    assert history[0] == pytest.approx(0.5, rel=1e-12)  # half the variance of a label of deviation 1
    assert history == sorted(history, reverse=True)


@pytest.mark.thorough
def test_numbers_are_learned_in_one_scan_and_a_vector_by_a_trainer_after_it(local: Engine) -> None:
    data = dataset(local, table())
    of_numbers, of_vector = (Pipeline(stage(names)).fit(data) for names in (NUMBERS, FEATURES))
    assert [model.stages[0].trains(data.schema) for model in (of_numbers, of_vector)] == [False, True]
    assert list(of_numbers.report.seconds) == ["scan 1"]
    assert list(of_vector.report.seconds) == ["scan 1", "train LinearRegression"]
    explained = Pipeline(stage(FEATURES)).explain(data)
    assert "train LinearRegression: on all ranks at once" in explained


def test_a_bound_stage_is_bound_to_other_columns_anew() -> None:
    bound = stage(FEATURES, reg_param=0.1).bind(table().schema)
    assert bound.bind(table().schema) == bound
    numbers = pa.schema(dict.fromkeys([*FEATURES, "y"], pa.float64()))
    assert bound.bind(numbers) == stage(FEATURES, reg_param=0.1).bind(numbers)
    assert not bound.bind(numbers).trains(numbers)


def test_a_model_of_a_vector_that_was_saved_by_a_class_of_its_own_is_the_same() -> None:
    schema = pa.schema([("x", pa.float64()), ("y", pa.float64()), *sparse.fields(["v"]).items()])
    bound = st.LinearRegression("y", features=("x", "v_indices", "v_values")).bind(schema)
    assert st.LinearRegression.from_parameters({**bound.parameters(), "vector": "v"}) == bound
    model = PipelineModel((bound,), ({"vector": "v", "intercept": 1.5},), schema)
    assert model.digest == "sha256:56b70d556789b57aed81e604d235f74262c7262d33c0ae34cb20b7faccc1c748"
    assert model.preprocessing_digest == PipelineModel((), (), schema).digest


# Texts


@pytest.mark.thorough
def test_texts_become_numbers_without_a_dense_matrix(local: Engine, tmp_path: Path) -> None:
    words = np.array([f"word{place}" for place in range(300)])
    draw = np.random.default_rng(6)
    chosen = draw.integers(0, 300, (ROWS, 12))
    y = (chosen < 100).sum(axis=1) + draw.normal(size=ROWS) / 10
    texts = [" ".join(words[row]) for row in chosen]
    data = dataset(local, pa.table({"text": texts, "y": y}))
    hashed = st.HashingTF("text", num_features=2**18, output_columns=["tf"])
    trainer = st.LinearRegression("y", features=sparse.columns("tf"), reg_param=0.1)
    tracemalloc.start()
    try:
        model = Pipeline(st.Tokenizer("text"), hashed, st.IDF("tf"), trainer).fit(data)
        made = model.transform(data).to_arrow()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < ROWS * 2**18  # a dense matrix is eight times as large
    assert model.fitted[-1]["vector_coefficients"].num_rows <= 300
    assert metrics.r2_score(y, made["prediction"].to_numpy()) > 0.9
    model.save(tmp_path / "model")
    again = PipelineModel.load(tmp_path / "model")
    assert again.stages == model.stages
    assert again.fitted == model.fitted
    assert again.predict({"text": texts[0]})["prediction"] == made["prediction"][0].as_py()


# Scoring


@pytest.mark.thorough
def test_predictions_are_sums_of_what_was_learned(local: Engine) -> None:
    model = Pipeline(stage(FEATURES, reg_param=0.1)).fit(dataset(local, table()))
    made = model.transform(dataset(local, table())).to_arrow()
    expected = WHOLE @ coefficients(model.fitted[0]) + model.fitted[0]["intercept"]
    np.testing.assert_allclose(made["prediction"].to_numpy(), expected, rtol=1e-12)
    assert made.schema.field("prediction").type == pa.float64()


@pytest.mark.thorough
def test_a_row_by_itself_is_scored_the_same(local: Engine) -> None:
    model = Pipeline(stage(FEATURES, reg_param=0.1)).fit(dataset(local, table()))
    together = model.transform(dataset(local, table())).to_arrow()["prediction"].to_pylist()
    assert [model.predict(row)["prediction"] for row in table().to_pylist()[:20]] == together[:20]


def test_a_row_without_a_vector_or_a_number_has_null(local: Engine) -> None:
    model = Pipeline(stage(FEATURES, reg_param=0.1)).fit(dataset(local, table()))
    first = table().slice(0, 3).to_pylist()
    holes = [first[0], {**first[1], "v_indices": None, "v_values": None}, {**first[2], "b": None}]
    whole, found = (
        model.transform(local.from_arrow(pa.Table.from_pylist(rows, table().schema))).to_arrow()["prediction"]
        for rows in (first, holes)
    )
    assert found.to_pylist() == [whole[0].as_py(), None, None]


@pytest.mark.thorough
def test_no_rows_are_scored_as_none(local: Engine) -> None:
    model = Pipeline(stage(FEATURES)).fit(dataset(local, table()))
    assert model.transform(local.from_arrow(table().slice(0, 0))).to_arrow().num_rows == 0


@pytest.mark.thorough
def test_indices_that_training_had_not_count_for_nothing(local: Engine) -> None:
    model = Pipeline(stage()).fit(dataset(local, table()))
    longer = scipy.sparse.hstack([MATRIX, np.ones((ROWS, 3))], format="csr")
    found, expected = (
        model.transform(dataset(local, pa.table({**lists(matrix), "y": Y}), 4000)).to_arrow()["prediction"]
        for matrix in (longer, MATRIX)
    )
    assert found.to_pylist() == expected.to_pylist()


def test_the_table_names_numbers_and_indices(local: Engine) -> None:
    model = Pipeline(stage(("a", *VECTOR), reg_param=0.1)).fit(dataset(local, table()))
    found = model.coefficients()
    assert found["feature"].to_pylist() == ["a", *(f"v[{place}]" for place in range(SIZE)), "(intercept)"]
    expected = [*coefficients(model.fitted[0]), model.fitted[0]["intercept"]]
    assert found["value"].to_pylist() == expected
    assert found["p_value"].null_count == SIZE + 2


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
    assert (caught.value.row, caught.value.stage) == (333, "LinearRegression")
    assert caught.value.path is not None


def test_rows_without_a_vector_are_refused_at_fit_with_their_place(local: Engine) -> None:
    with pytest.raises(DataValueError, match="'v_indices' has 1 values that are null, expected a vector in every") as e:
        Pipeline(stage()).fit(dataset(local, faulty(table(), 333, None, None)))
    assert (e.value.column, e.value.row) == ("v_indices", 333)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("b", None, "null"),
        ("b", np.inf, "infinite"),
        ("b", 1e200, "too large"),
        ("y", None, "null"),
        ("y", np.nan, "null"),
        ("y", -np.inf, "infinite"),
        ("y", 1e200, "too large"),
        ("w", None, "null"),
        ("w", -0.5, "negative"),
        ("w", np.inf, "infinite"),
    ],
)
def test_numbers_label_and_weights_are_checked(local: Engine, column: str, value: float | None, message: str) -> None:
    rows = table(w=WEIGHT).to_pylist()
    rows[333][column] = value
    with pytest.raises(DataValueError, match=f"column '{column}' has 1 values that are {message}") as caught:
        Pipeline(stage(FEATURES, weight="w")).fit(dataset(local, pa.Table.from_pylist(rows, table(w=WEIGHT).schema)))
    assert (caught.value.row, caught.value.stage) == (333, "LinearRegression")


@pytest.mark.thorough
def test_an_infinite_number_beside_a_vector_is_not_scored(local: Engine) -> None:
    model = Pipeline(stage(FEATURES)).fit(dataset(local, table()))
    rows = table().slice(0, 2).to_pylist()
    rows[1]["a"] = np.inf
    with pytest.raises(DataValueError, match="column 'a' has 1 values that are infinite"):
        model.transform(local.from_arrow(pa.Table.from_pylist(rows, table().schema))).to_arrow()


def test_vectors_that_are_all_empty_are_refused(local: Engine) -> None:
    empty = scipy.sparse.csr_matrix((ROWS, SIZE))
    with pytest.raises(DataValueError, match="column 'v_indices' has no index in any of its lists"):
        Pipeline(stage()).fit(local.from_arrow(pa.table({**lists(empty), "y": Y})))


def test_rows_without_any_weight_are_refused(local: Engine) -> None:
    with pytest.raises(DataValueError, match="no row has a positive weight"):
        Pipeline(stage(weight="w")).fit(dataset(local, table(w=np.zeros(ROWS))))


@pytest.mark.parametrize("features", [("a", "v_indices"), (*VECTOR, "u_indices", "u_values")])
def test_lists_that_are_not_one_vector_are_refused(features: tuple[str, ...]) -> None:
    with pytest.raises(SchemaError, match="the two columns of one sparse vector"):
        stage(features).bind(pa.schema([*table().schema, *sparse.fields(["u"]).items()]))


def test_lists_are_no_features_unless_named() -> None:
    assert st.LinearRegression("y").bind(table().schema).inputs() == NUMBERS


def test_a_label_among_the_features_is_still_refused() -> None:
    with pytest.raises(ConfigError, match="label 'y' is among the features"):
        stage((*VECTOR, "y")).bind(table().schema)
