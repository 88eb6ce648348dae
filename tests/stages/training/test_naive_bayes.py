"""Naive Bayes against scikit-learn, MLlib and closed forms; what it refuses, and what it makes of odd rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import naive_bayes as sk

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, EmptyInputError, SchemaError
from penstock.pipeline import Pipeline, PipelineModel

ROWS = 500
FEATURES = ("f0", "f1", "f2", "f3")
TYPES = ("multinomial", "complement", "bernoulli", "gaussian")
COLUMNS = ("rawPrediction", "probability", "prediction")
SKLEARN = {
    "multinomial": sk.MultinomialNB,
    "complement": sk.ComplementNB,
    "bernoulli": sk.BernoulliNB,
    "gaussian": sk.GaussianNB,
}


def features(model_type: str, label: np.ndarray) -> np.ndarray:
    """Return four columns in the domain of a model, which differ a little between classes."""
    rng = np.random.default_rng(3)
    shift = np.arange(label.max() + 1)[label][:, None] * np.array([0.4, -0.3, 0.0, 0.2])
    noise = rng.normal(size=(len(label), 4))
    if model_type == "gaussian":
        return 5 + (noise + shift) * np.array([1, 20, 0.05, 3])
    if model_type == "bernoulli":
        return (noise + shift > 0.3).astype(float)
    return np.floor(np.exp(noise + shift))


def sample(model_type: str, classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    label = np.minimum(rng.geometric(0.5, ROWS) - 1, classes - 1)
    return features(model_type, label), label, rng.integers(1, 5, ROWS) / 2


def dataset(local: Engine, x: np.ndarray, **more: Any) -> Dataset:
    """Return the features and more columns in four fragments."""
    table = pa.table({**dict(zip(FEATURES, x.T, strict=True)), **more})
    return local.from_arrow(table, fragment_bytes=table.nbytes // 4)


def stage(model_type: str, weighted: bool = False, **options: Any) -> st.NaiveBayes:
    weight = "w" if weighted else None
    return st.NaiveBayes("label", features=FEATURES, weight=weight, model_type=model_type, **options)


def matrix(model: PipelineModel, name: str) -> np.ndarray:
    """Return what was learned, of shape (n_classes, n_features)."""
    return np.stack([column.to_numpy() for column in model.fitted[0][name].columns], axis=1)


def scored(model: PipelineModel, data: Dataset) -> list[np.ndarray]:
    table = model.transform(data).to_arrow()
    return [np.array(table[name].to_pylist()) for name in COLUMNS]


# Learned and scored as elsewhere


@pytest.mark.pairwise
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model_type", TYPES)
def test_scores_are_those_of_scikit_learn(local: Engine, model_type: str, weighted: bool, classes: int) -> None:
    x, label, weight = sample(model_type, classes)
    data = dataset(local, x, label=label, w=weight)
    model = Pipeline(stage(model_type, weighted, smoothing=0.7)).fit(data)
    raw, probability, prediction = scored(model, data)

    weight = weight if weighted else np.ones(ROWS)
    priors = np.bincount(label, weight) + 0.7  # scikit-learn smooths none
    if model_type == "gaussian":
        # The same variance is added, but scikit-learn takes it from rows without weights.
        variance = np.cov(x.T, aweights=weight, ddof=0).diagonal().max()
        oracle = sk.GaussianNB(var_smoothing=1e-9 * variance / x.var(axis=0).max())
    else:
        oracle = SKLEARN[model_type](alpha=0.7, class_prior=priors / priors.sum())
    oracle.fit(x, label, sample_weight=weight)
    joint = oracle.predict_joint_log_proba(x)
    if model_type == "gaussian":
        joint += 2 * np.log(2 * np.pi)  # half of it for each of four features
    if model_type == "complement":
        joint -= np.logaddexp.reduce(joint, axis=1, keepdims=True)
    expected = oracle.predict_proba(x)
    np.testing.assert_allclose(raw, joint[:, 1] - joint[:, 0] if classes == 2 else joint, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(probability, expected[:, 1] if classes == 2 else expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(prediction, oracle.predict(x))


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize(("classes", "weighted"), [(2, False), (2, True), (4, True)])
@pytest.mark.parametrize("model_type", TYPES)
def test_everything_is_as_in_mllib(local: Engine, spark: Any, model_type: str, weighted: bool, classes: int) -> None:
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.linalg import Vectors

    x, label, weight = sample(model_type, classes)
    rows = [(Vectors.dense(row), float(y), float(w)) for row, y, w in zip(x, label, weight, strict=True)]
    given = spark.createDataFrame(rows, ["features", "label", "w"]).coalesce(1)
    options = {"weightCol": "w"} if weighted else {}
    theirs = NaiveBayes(modelType=model_type, smoothing=0.7, **options).fit(given)
    made = theirs.transform(given).select(*COLUMNS).collect()
    scores, shares = (np.array([row[name].toArray() for row in made]) for name in COLUMNS[:2])

    data = dataset(local, x, label=label, w=weight)
    model = Pipeline(stage(model_type, weighted, smoothing=0.7)).fit(data)
    raw, probability, prediction = scored(model, data)
    np.testing.assert_allclose(model.fitted[0]["pi"], theirs.pi.toArray(), rtol=1e-9)
    np.testing.assert_allclose(matrix(model, "theta"), theirs.theta.toArray(), rtol=1e-9)
    if model_type == "gaussian":
        np.testing.assert_allclose(matrix(model, "sigma"), theirs.sigma.toArray(), rtol=1e-9)
    expected = scores[:, 1] - scores[:, 0] if classes == 2 else scores
    np.testing.assert_allclose(raw, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(probability, shares[:, 1] if classes == 2 else shares, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(prediction, [row["prediction"] for row in made])


def test_what_is_learned_of_words_is_the_closed_form(local: Engine) -> None:
    x = np.array([[3.0, 0, 1, 0], [1, 0, 1, 0], [0, 2, 0, 0]])
    model = Pipeline(stage("multinomial")).fit(dataset(local, x, label=["a", "a", "b"]))
    np.testing.assert_allclose(np.exp(model.fitted[0]["pi"]), [3 / 5, 2 / 5])
    np.testing.assert_allclose(
        np.exp(matrix(model, "theta")), [[5 / 10, 1 / 10, 3 / 10, 1 / 10], [1 / 6, 3 / 6, 1 / 6, 1 / 6]]
    )


@pytest.mark.parametrize("model_type", TYPES)
def test_weights_count_as_repeated_rows(local: Engine, model_type: str) -> None:
    x, label, _ = sample(model_type, 3)
    weight = np.random.default_rng(6).integers(0, 4, ROWS)
    once = Pipeline(stage(model_type, weighted=True)).fit(dataset(local, x, label=label, w=weight))
    repeated = dataset(local, np.repeat(x, weight, axis=0), label=np.repeat(label, weight))
    again = Pipeline(stage(model_type)).fit(repeated)
    for name in ("theta", "sigma") if model_type == "gaussian" else ("theta",):
        np.testing.assert_allclose(matrix(once, name), matrix(again, name), rtol=1e-12)
    np.testing.assert_allclose(once.fitted[0]["pi"], again.fitted[0]["pi"], rtol=1e-12)


@pytest.mark.parametrize("model_type", TYPES)
def test_it_is_fitted_in_one_scan(local: Engine, model_type: str) -> None:
    x, label, _ = sample(model_type, 3)
    model = Pipeline(stage(model_type)).fit(dataset(local, x, label=label))
    assert model.report is not None
    assert model.report.scans == 1


@pytest.mark.thorough
@pytest.mark.parametrize("model_type", TYPES)
def test_yesterdays_statistics_and_todays_are_the_refit(local: Engine, model_type: str) -> None:
    x, label, weight = sample(model_type, 3)
    whole = dataset(local, x, label=label, w=weight)
    days = [dataset(local, x[rows], label=label[rows], w=weight[rows]) for rows in (slice(0, 300), slice(300, None))]
    bound = stage(model_type, weighted=True).bind(whole.schema)
    statistics = bound.statistics(whole.schema)
    gathered = [day.gather(list(statistics.values()))[0] for day in days]
    merged = {
        name: statistic.finish(statistic.merge(list(states)))
        for (name, statistic), states in zip(statistics.items(), zip(*gathered, strict=True), strict=True)
    }
    refit, expected = bound.finish(merged), Pipeline(stage(model_type, weighted=True)).fit(whole).fitted[0]
    assert list(refit) == list(expected)
    np.testing.assert_allclose(refit["pi"], expected["pi"], rtol=1e-12)
    for name in set(refit) & {"theta", "sigma"}:
        for found, column in zip(refit[name].columns, expected[name].columns, strict=True):
            np.testing.assert_allclose(found.to_numpy(), column.to_numpy(), rtol=1e-12)


def test_densities_do_not_depend_on_the_offset(local: Engine) -> None:
    # Of multiples of 1/64 all differences are exact; sums of squares would lose all but a digit of a variance.
    x, label, _ = sample("gaussian", 3)
    x = np.round(x * 64) / 64
    near, far = (dataset(local, x + offset, label=label) for offset in (0.0, 2.0**20))
    found, expected = (scored(Pipeline(stage("gaussian")).fit(data), data) for data in (far, near))
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)
    np.testing.assert_array_equal(found[2], expected[2])


@pytest.mark.parametrize("model_type", TYPES)
def test_a_row_is_scored_as_if_alone(local: Engine, model_type: str) -> None:
    x, label, _ = sample(model_type, 3)
    model = Pipeline(stage(model_type)).fit(dataset(local, x, label=label))
    few = model.transform(local.from_arrow(pa.table(dict(zip(FEATURES, x.T, strict=True))))).to_arrow()
    many = np.tile(x, (20, 1))
    found = model.transform(local.from_arrow(pa.table(dict(zip(FEATURES, many.T, strict=True))))).to_arrow()
    assert len(found) == 20 * ROWS
    for first in range(0, len(found), ROWS):
        assert found.slice(first, ROWS).equals(few)


# Columns


@pytest.mark.thorough
@pytest.mark.parametrize(
    "values",
    [["x", "é"], [True, False], [-7, 2**60], [3.0, 8.0], ["a", "b", "c"], [5, -5, 0]],
    ids=["strings", "booleans", "integers", "floats", "three strings", "three integers"],
)
def test_predictions_are_of_the_type_of_the_label(local: Engine, values: list[Any]) -> None:
    x, label, _ = sample("gaussian", len(values))
    named = pa.array([sorted(values)[place] for place in label])
    data = dataset(local, x, label=named)
    model = Pipeline(stage("gaussian")).fit(data)
    plain = Pipeline(stage("gaussian")).fit(dataset(local, x, label=label))
    table = model.transform(data).to_arrow()
    assert model.fitted[0]["classes"]["value"].to_pylist() == sorted(values)
    assert table["prediction"].type == named.type
    places = scored(plain, data)[2]
    assert table["prediction"].to_pylist() == [sorted(values)[place] for place in places]


@pytest.mark.parametrize("classes", [2, 3])
def test_the_label_is_not_needed_to_predict(local: Engine, classes: int) -> None:
    x, label, weight = sample("multinomial", classes)
    data = dataset(local, x, label=label, w=weight)
    model = Pipeline(stage("multinomial", weighted=True)).fit(data)
    assert model.input_columns == list(FEATURES)
    without, with_label = (model.transform(each).to_arrow().select(COLUMNS) for each in (dataset(local, x), data))
    assert without.equals(with_label)


def test_features_are_all_numbers_but_label_and_weight(local: Engine) -> None:
    data = dataset(local, np.ones((3, 4)), label=[0, 1, 1], w=[1.0] * 3, name=["text"] * 3)
    assert st.NaiveBayes("label", weight="w").bind(data.schema).inputs() == FEATURES


@pytest.mark.parametrize("classes", [2, 3])
def test_a_row_with_a_null_has_no_prediction(local: Engine, classes: int) -> None:
    x, label, _ = sample("gaussian", classes)
    model = Pipeline(stage("gaussian")).fit(dataset(local, x, label=label))
    whole = model.transform(dataset(local, x)).to_arrow().select(COLUMNS).to_pylist()
    holes = x.copy()
    holes[[3, 499], [0, 2]] = np.nan
    found = model.transform(dataset(local, holes)).to_arrow().select(COLUMNS).to_pylist()
    expected = [dict.fromkeys(COLUMNS) if i in (3, 499) else row for i, row in enumerate(whole)]
    assert found == expected


@pytest.mark.parametrize("classes", [2, 3])
def test_long_documents_have_probabilities_of_zero_and_one(local: Engine, classes: int) -> None:
    x, label, _ = sample("multinomial", classes)
    model = Pipeline(stage("multinomial")).fit(dataset(local, x, label=label))
    raw, probability, prediction = scored(model, dataset(local, np.diag([1e9, 1e9, 1e9, 1e9])))
    assert np.isfinite(raw).all()
    assert np.abs(raw).max() > 1e7  # whose exponential is 0, or overflows
    assert set(probability.ravel()) == {0.0, 1.0}
    expected = raw > 0 if classes == 2 else raw.argmax(axis=1)
    np.testing.assert_array_equal(prediction, expected)


def test_columns_are_named_as_asked(local: Engine) -> None:
    x, label, _ = sample("bernoulli", 2)
    named = stage("bernoulli", prediction="p", probability="q", raw_prediction="r")
    data = dataset(local, x, label=label)
    assert Pipeline(named).fit(data).transform(data).columns == [*FEATURES, "label", "r", "q", "p"]


# What is refused


def parquet(local: Engine, folder: Path, **columns: Any) -> Dataset:
    """Write two files of 400 and 200 rows, and read them in fragments of 100."""
    table = pa.table(columns)
    pq.write_table(table.slice(0, 400), folder / "0.parquet", row_group_size=100)
    pq.write_table(table.slice(400), folder / "1.parquet", row_group_size=100)
    return local.read_parquet(str(folder / "*.parquet"), fragment_bytes=100 * table.nbytes // 600)


def with_bad(values: Any, bad: Any) -> pa.Array:
    changed = [float(value) for value in values]
    changed[433] = changed[500] = bad
    return pa.array(changed)


BAD_FEATURES = [
    ("multinomial", -1.0, "negative, expected numbers of 0 or more"),
    ("complement", -1e-300, "negative, expected numbers of 0 or more"),
    ("bernoulli", 2.0, "not binary, expected 0 and 1, or booleans"),
    ("bernoulli", 0.5, "not binary, expected 0 and 1, or booleans"),
    ("gaussian", float("inf"), "infinite, expected finite numbers"),
    ("multinomial", float("inf"), "infinite, expected finite numbers"),
]


@pytest.mark.parametrize(("model_type", "bad", "problem"), [*BAD_FEATURES, ("gaussian", None, "null")])
def test_a_bad_feature_is_told_at_fit_with_file_and_row(
    local: Engine, tmp_path: Path, model_type: str, bad: Any, problem: str
) -> None:
    label = np.arange(600) % 2
    data = parquet(local, tmp_path, label=label, x=with_bad(label, bad), more=label)
    with pytest.raises(DataValueError, match=f"column 'x' has 2 values that are {problem}") as caught:
        Pipeline(st.NaiveBayes("label", model_type=model_type)).fit(data)
    error = caught.value
    assert (error.path, error.row, error.stage) == (str(tmp_path / "1.parquet"), 33, "NaiveBayes")


@pytest.mark.parametrize(("model_type", "bad", "problem"), BAD_FEATURES)
def test_a_bad_feature_is_told_when_predicting(
    local: Engine, tmp_path: Path, model_type: str, bad: Any, problem: str
) -> None:
    label = np.arange(600) % 2
    model = Pipeline(st.NaiveBayes("label", model_type=model_type)).fit(
        local.from_arrow(pa.table({"label": label, "x": label.astype(float), "more": label}))
    )
    data = parquet(local, tmp_path, x=with_bad(label, bad), more=label)
    with pytest.raises(DataValueError, match=f"column 'x' has 1 values that are {problem}") as caught:
        model.transform(data).to_arrow()
    assert (caught.value.path, caught.value.row) == (str(tmp_path / "1.parquet"), 33)


@pytest.mark.parametrize(
    ("column", "bad", "problem"),
    [
        ("label", None, "null"),
        ("label", float("inf"), "infinite"),
        ("label", 0.5, "not whole"),
        ("w", None, "null"),
        ("w", -1.0, "negative"),
        ("w", float("inf"), "infinite"),
    ],
)
def test_a_bad_label_or_weight_is_told_with_file_and_row(
    local: Engine, tmp_path: Path, column: str, bad: Any, problem: str
) -> None:
    columns = {"label": np.arange(600) % 2, "w": np.ones(600), "x": np.ones(600), "y": np.ones(600)}
    data = parquet(local, tmp_path, **{**columns, column: with_bad(columns[column], bad)})
    with pytest.raises(DataValueError, match=f"column '{column}' has 2 values that are {problem}") as caught:
        Pipeline(st.NaiveBayes("label", weight="w")).fit(data)
    assert (caught.value.path, caught.value.row) == (str(tmp_path / "1.parquet"), 33)


@pytest.mark.parametrize("weight", [[1.0, 1.0, 1.0], [1.0, 0.0, 1.0]], ids=["alone", "the other without weight"])
def test_one_class_is_told_with_its_count(local: Engine, weight: list[float]) -> None:
    label = ["yes", "yes" if all(weight) else "no", "yes"]
    data = dataset(local, np.ones((3, 4)), label=label, w=weight)
    told = rf"'label' has 1 class\(es\), expected 2 to 10000; counts: 'yes': {label.count('yes')}"
    with pytest.raises(DataValueError, match=told):
        Pipeline(stage("multinomial", weighted=True)).fit(data)


def test_too_many_classes_are_a_regression(local: Engine) -> None:
    table = pa.table({"label": range(10_001), "x": np.ones(10_001)})
    with pytest.raises(DataValueError, match="'label' has 10001 or more distinct values, expected at most 10000"):
        Pipeline(st.NaiveBayes("label")).fit(local.from_arrow(table))
    assert Pipeline(st.NaiveBayes("label")).fit(local.from_arrow(table.slice(1))).fitted[0]["theta"].num_rows == 10_000


def test_no_row_to_learn_from_is_an_error(local: Engine) -> None:
    data = dataset(local, np.ones((0, 4)), label=pa.array([], pa.int64()))
    with pytest.raises(EmptyInputError, match="no row"):
        Pipeline(stage("gaussian")).fit(data)


@pytest.mark.parametrize(
    ("model_type", "rows", "name"),
    [
        ("multinomial", [[1, 0, 1, 1], [1, 1, 1, 1]], "f1"),
        ("complement", [[1, 1, 1, 1], [1, 1, 0, 1]], "f2"),
        ("bernoulli", [[1, 0, 1, 0], [0, 1, 0, 1]], "f0"),
        ("multinomial", [[0, 0, 0, 0], [1, 1, 1, 1]], "f0"),
    ],
)
def test_without_smoothing_a_probability_of_zero_is_refused(
    local: Engine, model_type: str, rows: list[list[int]], name: str
) -> None:
    data = dataset(local, np.array(rows, dtype=float), label=["a", "b"])
    with pytest.raises(DataValueError, match=rf"'{name}' gives class 'a' a probability of 0, and smoothing is 0"):
        Pipeline(stage(model_type, smoothing=0)).fit(data)
    Pipeline(stage(model_type, smoothing=1e-9)).fit(data)


def test_constant_features_have_no_density(local: Engine) -> None:
    data = dataset(local, np.full((4, 4), 0.1), label=[0, 1, 0, 1])
    with pytest.raises(DataValueError, match="every feature is constant: f0, f1, f2, f3"):
        Pipeline(stage("gaussian")).fit(data)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("model_type", "large", "larger"),
    [("gaussian", 1e150, 1e200), ("multinomial", 1e307, 1.7e308), ("complement", 1e307, 1.7e308)],
)
def test_scores_that_overflow_are_refused(
    local: Engine, model_type: str, large: float, larger: float, classes: int
) -> None:
    x, label, _ = sample(model_type, classes)
    model = Pipeline(stage(model_type)).fit(dataset(local, x, label=label))
    assert np.isfinite(scored(model, dataset(local, np.array([[1.0, 1, 1, 1], [large, 1, 1, large]])))[0]).all()
    with pytest.raises(DataValueError, match=r"1 row\(s\) have features so far from those of training.*f0, f1, f2, f3"):
        scored(model, dataset(local, np.array([[1.0, 1, 1, 1], [larger, 1, 1, larger]])))


def test_a_label_of_the_wrong_type_is_told_before_reading(local: Engine) -> None:
    data = dataset(local, np.ones((2, 4)), label=pa.array([0, 1], pa.date32()))
    with pytest.raises(SchemaError, match="label 'label' is date32"):
        Pipeline(stage("multinomial")).plan(data)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"features": ("label", "f0")}, "label 'label' is among the features"),
        ({"features": ("f0", "w"), "weight": "w"}, "weight 'w' is among the features"),
    ],
)
def test_label_and_weight_are_no_features(local: Engine, given: dict[str, Any], message: str) -> None:
    data = dataset(local, np.ones((2, 4)), label=[0, 1], w=[1.0, 1.0])
    with pytest.raises(ConfigError, match=message):
        Pipeline(st.NaiveBayes("label", **given)).plan(data)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model_type": "gausian"}, "model_type of NaiveBayes is 'gausian', .* Did you mean 'gaussian'?"),
        ({"smoothing": -0.1}, "smoothing of NaiveBayes is -0.1, expected a number >= 0"),
        ({"smoothing": float("nan")}, "smoothing of NaiveBayes is nan"),
    ],
)
def test_a_wrong_parameter_is_refused_when_it_is_given(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        st.NaiveBayes("label", **given)
