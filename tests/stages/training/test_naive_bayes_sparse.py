"""Naive Bayes on sparse vectors is that of scikit-learn and MLlib on the same matrix, and of the dense columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn import naive_bayes as sk

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError, SchemaError
from penstock.frames import sparse
from penstock.pipeline import Pipeline, PipelineModel

ROWS, SIZE = 300, 50
VECTOR = sparse.columns("v")
TYPES = ("multinomial", "complement", "bernoulli")
SKLEARN = {"multinomial": sk.MultinomialNB, "complement": sk.ComplementNB, "bernoulli": sk.BernoulliNB}
COLUMNS = ("rawPrediction", "probability", "prediction")
DRAW = np.random.default_rng(4)
LABEL = np.minimum(DRAW.geometric(0.5, ROWS) - 1, 2)
WEIGHT = DRAW.integers(1, 5, ROWS) / 2
NUMBER = DRAW.integers(0, 2, ROWS)


def matrix(model_type: str) -> Any:
    """Return counts, or 0 and 1, at 40 of 50 indices, not at the last ones; a class has some more often."""
    rates = np.outer([1.0, 1.5, 0.5], np.ones(SIZE)) * np.linspace(0.05, 0.4, SIZE) * (np.arange(SIZE) % 5 != 4)
    rates[1, ::3] *= 2
    counts = np.random.default_rng(8).poisson(rates[LABEL])
    return scipy.sparse.csr_matrix((counts > 0 if model_type == "bernoulli" else counts).astype(float))


def lists(given: Any) -> dict[str, pa.Array]:
    rows = np.split(given.indices, given.indptr[1:-1]), np.split(given.data, given.indptr[1:-1])
    return {name: pa.array(each, kind) for each, (name, kind) in zip(rows, sparse.fields(["v"]).items(), strict=True)}


def table(given: Any, classes: int = 3, **more: Any) -> pa.Table:
    return pa.table({"x": NUMBER, **lists(given), "label": np.minimum(LABEL, classes - 1), "w": WEIGHT, **more})


def dataset(engine: Engine, rows: pa.Table) -> Dataset:
    data = engine.from_arrow(rows, fragment_bytes=4_000)
    assert len(data.fragments) > 1
    return data


def stage(model_type: str, features: tuple[str, ...] = VECTOR, **options: Any) -> st.NaiveBayes:
    return st.NaiveBayes("label", features=features, model_type=model_type, smoothing=0.7, **options)


def scored(model: PipelineModel, data: Dataset) -> list[np.ndarray]:
    made = model.transform(data).to_arrow()
    return [np.array(made[name].to_pylist()) for name in COLUMNS]


@pytest.mark.thorough
@pytest.mark.pairwise
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model_type", TYPES)
def test_scores_are_those_of_scikit_learn(local: Engine, model_type: str, weighted: bool, classes: int) -> None:
    given, label = matrix(model_type), np.minimum(LABEL, classes - 1)
    data = dataset(local, table(given, classes))
    model = Pipeline(stage(model_type, weight="w" if weighted else None, vector_size=SIZE)).fit(data)
    weight = WEIGHT if weighted else np.ones(ROWS)
    priors = np.bincount(label, weight) + 0.7  # scikit-learn smooths none
    oracle = SKLEARN[model_type](alpha=0.7, class_prior=priors / priors.sum()).fit(given, label, sample_weight=weight)
    raw, probability, prediction = scored(model, data)
    joint, expected = oracle.predict_joint_log_proba(given), oracle.predict_proba(given)
    if model_type == "complement":
        joint -= np.logaddexp.reduce(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(raw, joint[:, 1] - joint[:, 0] if classes == 2 else joint, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(probability, expected[:, 1] if classes == 2 else expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(prediction, oracle.predict(given))


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("model_type", TYPES)
def test_everything_is_as_in_mllib(local: Engine, spark: Any, model_type: str) -> None:
    from pyspark.ml.classification import NaiveBayes
    from pyspark.ml.linalg import Vectors

    given = matrix(model_type)
    held = np.split(np.arange(given.nnz), given.indptr[1:-1])
    vectors = [Vectors.sparse(SIZE, given.indices[each].tolist(), given.data[each].tolist()) for each in held]
    rows = list(zip(vectors, LABEL.astype(float).tolist(), WEIGHT.tolist(), strict=True))
    frame = spark.createDataFrame(rows, ["features", "label", "w"]).coalesce(1)
    theirs = NaiveBayes(modelType=model_type, smoothing=0.7, weightCol="w").fit(frame)
    made = theirs.transform(frame).select(*COLUMNS).collect()
    data = dataset(local, table(given))
    model = Pipeline(stage(model_type, weight="w", vector_size=SIZE)).fit(data)
    fitted = model.fitted[0]
    theta = np.repeat(np.array(fitted["other_theta"])[:, None], SIZE, axis=1)
    seen = fitted["vector_theta"]
    theta[:, seen["index"].to_numpy()] = [seen[str(place)].to_numpy() for place in range(3)]
    np.testing.assert_allclose(fitted["pi"], theirs.pi.toArray(), rtol=1e-9)
    np.testing.assert_allclose(theta, theirs.theta.toArray(), rtol=1e-9)
    raw, _, prediction = scored(model, data)
    np.testing.assert_allclose(raw, [row["rawPrediction"].toArray() for row in made], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(prediction, [row["prediction"] for row in made])


@pytest.mark.thorough
@pytest.mark.parametrize("model_type", TYPES)
def test_numbers_beside_a_vector_are_columns_of_one_matrix(local: Engine, model_type: str) -> None:
    given = matrix(model_type)
    dense = pa.table({"x": NUMBER, **{f"f{place:02}": column for place, column in enumerate(given.toarray().T)}})
    dense = dense.append_column("label", pa.array(LABEL))
    names = tuple(dense.column_names[:-1])
    expected = Pipeline(stage(model_type, names)).fit(dataset(local, dense))
    model = Pipeline(stage(model_type, ("x", *VECTOR), vector_size=SIZE)).fit(dataset(local, table(given)))
    for ours, theirs in zip(
        scored(model, dataset(local, table(given))), scored(expected, dataset(local, dense)), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_what_is_learned_of_words_is_the_closed_form(local: Engine) -> None:
    given = scipy.sparse.csr_matrix([[3.0, 0, 1, 0, 0], [1, 0, 1, 0, 0], [0, 2, 0, 0, 0]])
    rows = pa.table({**lists(given), "label": ["a", "a", "b"]})
    fitted = Pipeline(st.NaiveBayes("label", features=VECTOR, vector_size=5)).fit(local.from_arrow(rows)).fitted[0]
    assert fitted["vector_theta"]["index"].to_pylist() == [0, 1, 2]
    np.testing.assert_allclose(np.exp(fitted["vector_theta"]["0"].to_numpy()), [5 / 11, 1 / 11, 3 / 11])
    np.testing.assert_allclose(np.exp(fitted["vector_theta"]["1"].to_numpy()), [1 / 7, 3 / 7, 1 / 7])
    np.testing.assert_allclose(np.exp(fitted["other_theta"]), [1 / 11, 1 / 7])


def test_the_largest_index_tells_the_size_unless_it_is_given(local: Engine) -> None:
    data = dataset(local, table(matrix("multinomial")))
    assert Pipeline(stage("multinomial")).fit(data).fitted[0]["size"] == SIZE - 1
    with pytest.raises(DataValueError, match="column 'v_indices' has index 48, expected less than 20") as caught:
        Pipeline(stage("multinomial", vector_size=20)).fit(data)
    assert caught.value.row is not None


@pytest.mark.thorough
def test_every_engine_learns_and_scores_the_same_to_the_bit(engine: Engine, local: Engine) -> None:
    rows = table(matrix("multinomial"))
    trainer = stage("multinomial", ("x", *VECTOR), weight="w")
    alone, model = (Pipeline(trainer).fit(dataset(each, rows)) for each in (local, engine))
    assert model.digest == alone.digest
    assert model.transform(dataset(engine, rows)).to_arrow().equals(alone.transform(dataset(local, rows)).to_arrow())


@pytest.mark.thorough
@pytest.mark.parametrize("model_type", TYPES)
def test_a_saved_model_scores_a_row_the_same(local: Engine, tmp_path: Path, model_type: str) -> None:
    rows = table(matrix(model_type))
    model = Pipeline(stage(model_type, ("x", *VECTOR))).fit(dataset(local, rows))
    model.save(tmp_path / "model")
    again = PipelineModel.load(tmp_path / "model")
    expected = model.transform(dataset(local, rows)).to_arrow()["rawPrediction"].to_pylist()
    assert [again.predict(row)["rawPrediction"] for row in rows.to_pylist()[:20]] == expected[:20]


def test_a_row_without_a_vector_has_nulls(local: Engine) -> None:
    model = Pipeline(stage("multinomial")).fit(dataset(local, table(matrix("multinomial"))))
    rows = table(matrix("multinomial")).slice(0, 2).to_pylist()
    rows[1] |= dict.fromkeys(VECTOR)
    made = model.transform(local.from_arrow(pa.Table.from_pylist(rows, table(matrix("multinomial")).schema))).to_arrow()
    assert [made[name].is_null().to_pylist() for name in COLUMNS] == [[False, True]] * 3


@pytest.mark.thorough
def test_indices_beyond_the_size_count_for_nothing(local: Engine) -> None:
    given = matrix("multinomial")
    model = Pipeline(stage("multinomial", vector_size=SIZE)).fit(dataset(local, table(given)))
    longer = scipy.sparse.hstack([given, np.ones((ROWS, 2))], format="csr")
    found = [scored(model, dataset(local, table(each)))[0] for each in (given, longer)]
    np.testing.assert_array_equal(found[0], found[1])


def faulty(model_type: str, indices: Any, values: Any) -> pa.Table:
    rows = table(matrix(model_type)).to_pylist()
    rows[150] |= dict(zip(VECTOR, (indices, values), strict=True))
    return pa.Table.from_pylist(rows, table(matrix(model_type)).schema)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("model_type", "indices", "values", "message"),
    [
        ("multinomial", [1, 2], [1.0, -1.0], "'v_values' has 1 values that are negative"),
        ("complement", [1, 2], [1.0, -1.0], "'v_values' has 1 values that are negative"),
        ("bernoulli", [1, 2], [1.0, 0.5], "'v_values' has 1 values that are not binary"),
        ("bernoulli", [1, 2, 3], [1.0, 0.0, 2.0], "'v_values' has 1 values that are not binary"),
        ("multinomial", [2, 1], [1.0, 1.0], "'v_indices' has 1 values that are not ascending, or negative"),
        ("multinomial", [1], [np.nan], "'v_values' has 1 values that are null, or NaN"),
    ],
)
@pytest.mark.parametrize("when", ["fit", "predict"])
def test_vectors_out_of_the_domain_are_refused_with_their_place(
    local: Engine, model_type: str, indices: Any, values: Any, message: str, when: str
) -> None:
    data = dataset(local, faulty(model_type, indices, values))
    with pytest.raises(DataValueError, match=message) as caught:
        if when == "fit":
            Pipeline(stage(model_type)).fit(data)
        else:
            Pipeline(stage(model_type)).fit(dataset(local, table(matrix(model_type)))).transform(data).to_arrow()
    assert (caught.value.row, caught.value.stage) == (150, "NaiveBayes")


@pytest.mark.thorough
def test_what_cannot_be_learned_from_is_refused(local: Engine) -> None:
    given = matrix("multinomial")
    with pytest.raises(DataValueError, match="'v_indices' has 1 values that are null") as caught:
        Pipeline(stage("multinomial")).fit(dataset(local, faulty("multinomial", None, None)))
    assert caught.value.row == 150
    with pytest.raises(DataValueError, match=r"'v\[4\]' gives class 0 a probability of 0, and smoothing is 0"):
        Pipeline(st.NaiveBayes("label", features=VECTOR, smoothing=0)).fit(dataset(local, table(given)))
    with pytest.raises(DataValueError, match="no index in any of its lists"):
        Pipeline(stage("multinomial")).fit(local.from_arrow(table(scipy.sparse.csr_matrix((ROWS, SIZE)))))
    with pytest.raises(DataValueError, match=r"'label' has 1 class\(es\)"):
        Pipeline(stage("multinomial")).fit(dataset(local, table(given, classes=1)))


def test_the_gaussian_model_refuses_a_vector_and_numbers_a_size(local: Engine) -> None:
    schema = table(matrix("multinomial")).schema
    with pytest.raises(ConfigError, match="'gaussian' of NaiveBayes is for numbers, and 'v' is a sparse vector"):
        st.NaiveBayes("label", features=VECTOR, model_type="gaussian").bind(schema)
    with pytest.raises(ConfigError, match="vector_size of NaiveBayes is 9, and no feature is a sparse vector"):
        st.NaiveBayes("label", features="x", vector_size=9).bind(schema)
    with pytest.raises(SchemaError, match="the two columns of one sparse vector"):
        st.NaiveBayes("label", features="v_indices").bind(schema)
