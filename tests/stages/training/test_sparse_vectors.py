"""Sparse vectors in trainers: invalid vectors, null rows, unseen indices."""

import tracemalloc
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn import metrics
from vector_rows import FAULTS, FEATURES, MATRIX, NUMBERS, ROWS, SIZE, VECTOR, X, dataset, draw, faulty, lists

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import DataValueError, SchemaError
from penstock.frames import sparse
from penstock.pipeline import Pipeline, PipelineModel

DRAW = draw()
SCORE = MATRIX @ DRAW.normal(size=SIZE) + 5 * X[:, 0] + DRAW.logistic(size=ROWS)
LABELS = {"y": 3 * SCORE + 20, "two": (SCORE > 0.4).astype(int), "three": np.digitize(SCORE, [-1, 1])}
TIGHT: dict[str, Any] = {"tol": 1e-10, "max_iter": 3000}
LINEAR: dict[str, Any] = {
    "linear": st.LinearRegression("y", features=FEATURES, reg_param=0.1),
    "two classes": st.LogisticRegression("two", features=FEATURES, reg_param=0.02),
    "three classes": st.LogisticRegression("three", features=FEATURES, reg_param=0.02),
}
BAYES = {"Bayes": st.NaiveBayes("three", features=VECTOR)}
BOOSTED = {
    "boosted": st.XGBoostClassifier("two", features=FEATURES, num_boost_round=3),
    "boosted of three": st.XGBoostClassifier("three", features=FEATURES, num_boost_round=2, max_depth=2),
}
TRAINERS = {**LINEAR, **BAYES, **BOOSTED}


def table(matrix: Any = MATRIX, **more: Any) -> pa.Table:
    return pa.table({**dict(zip(NUMBERS, X.T, strict=True)), **lists(matrix), **LABELS, **more})


def fit(engine: Engine, stage: Any, rows: pa.Table | None = None) -> PipelineModel:
    return Pipeline(stage).fit(dataset(engine, table() if rows is None else rows))


def scored(model: PipelineModel, data: Dataset) -> pa.Table:
    return model.transform(data).to_arrow().select(list(model.stages[0].outputs()))


# Scoring


@pytest.mark.thorough
def test_rows_by_themselves_no_rows_and_a_loaded_model_are_scored_the_same(local, tmp_path, subtests):
    for name, stage in TRAINERS.items():
        with subtests.test(name):
            model = fit(local, stage)
            together, rows = scored(model, dataset(local, table())), table().slice(0, 5).to_pylist()
            model.save(tmp_path / name)
            again = PipelineModel.load(tmp_path / name)
            assert (again.stages, again.digest) == (model.stages, model.digest)
            assert scored(again, dataset(local, table())).equals(together)
            assert [again.predict(row) for row in rows] == together.slice(0, 5).to_pylist()
            assert again.predict(rows * 4) == together.slice(0, 5).to_pylist() * 4
            assert scored(model, local.from_arrow(table().slice(0, 0))).equals(together.slice(0, 0))


@pytest.mark.thorough
def test_a_row_without_a_vector_or_a_number_has_nulls(local, subtests):
    first = table().slice(0, 3).to_pylist()
    holes = [first[0], {**first[1], **dict.fromkeys(VECTOR)}, {**first[2], "b": None}]
    given = local.from_arrow(pa.Table.from_pylist(holes, table().schema))
    for name, stage in (LINEAR | BAYES).items():
        with subtests.test(name):
            model = fit(local, stage)
            whole, found = scored(model, local.from_arrow(table().slice(0, 3))), scored(model, given)
            nothing = dict.fromkeys(whole.column_names)
            last = whole.to_pylist()[2] if name in BAYES else nothing  # which has no number
            assert found.to_pylist() == [whole.to_pylist()[0], nothing, last]
            assert found.schema == whole.schema


@pytest.mark.thorough
def test_indices_that_training_had_not_count_for_nothing(local, subtests):
    longer = scipy.sparse.hstack([MATRIX, np.ones((ROWS, 3))], format="csr")
    short = scipy.sparse.hstack([MATRIX[:, :9], scipy.sparse.csr_matrix((ROWS, SIZE - 9))], format="csr")
    for name, stage in TRAINERS.items():
        with subtests.test(name):
            model = fit(local, stage)
            for one, other in ((longer, MATRIX), (MATRIX[:, :9], short)):
                found, expected = (scored(model, dataset(local, table(each), 20_000)) for each in (one, other))
                assert found.equals(expected)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["linear", "two classes", "boosted"])
def test_texts_are_learned_from_without_a_dense_matrix(local, tmp_path, name):
    words, draw = np.array([f"word{place}" for place in range(300)]), np.random.default_rng(6)
    kind = draw.integers(0, 2, ROWS)
    texts = [" ".join(draw.choice(words[100 * each :][:200], 12)) for each in kind]
    label = kind if name != "linear" else [sum(int(word[4:]) < 100 for word in text.split()) for text in texts]
    data = dataset(local, pa.table({"text": texts, "label": label}))
    options = {"num_boost_round": 20} if name == "boosted" else {"reg_param": 0.01}
    trainer = type(TRAINERS[name])("label", features=sparse.columns("tf"), **options)
    hashed = st.HashingTF("text", num_features=2**18, output_columns=["tf"])
    tracemalloc.start()
    try:
        model = Pipeline(st.Tokenizer("text"), hashed, st.IDF("tf"), trainer).fit(data)
        made = model.transform(data).to_arrow()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < ROWS * 2**18  # a dense matrix is eight times as large
    assert model.fitted[-1]["indices" if name == "boosted" else "vector_coefficients"].num_rows <= 300
    assert metrics.r2_score(label, made["prediction"].to_numpy()) > 0.6
    model.save(tmp_path / "model")
    again = PipelineModel.load(tmp_path / "model")
    assert again.digest == model.digest
    row = {each: made[each][0].as_py() for each in model.stages[-1].outputs()}
    assert again.predict({"text": texts[0]}).items() >= row.items()


# Coefficients


def coefficients(model: PipelineModel) -> np.ndarray:
    """Return those of the indices of the vector, one row an output."""
    held = model.fitted[-1]["vector_coefficients"].drop_columns("index")
    return np.array([column.to_numpy() for column in held.columns])


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["linear", "two classes"])
def test_a_feature_far_from_zero_costs_few_digits(local, name):
    source = draw()
    near = np.round(source.normal(size=ROWS), 3)
    label = np.round(near + source.logistic(size=ROWS), 3)
    slopes = []
    for shift in (0.0, 1e5):
        vector = lists(scipy.sparse.csr_matrix((near + shift)[:, None]))
        rows = pa.table({**vector, "y": label + 10 * shift, "two": (label > 0).astype(int)})
        stage = type(LINEAR[name])(LINEAR[name].label, features=VECTOR, reg_param=0.01, **TIGHT)
        slopes.append(coefficients(Pipeline(stage).fit(dataset(local, rows, 2000))))
    np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-8)


@pytest.mark.thorough
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", ["linear", "two classes"])
def test_what_has_one_value_in_all_rows_has_no_coefficient_and_is_named(local, name, fit_intercept):
    ones = scipy.sparse.hstack([MATRIX, np.full((ROWS, 1), 0.1)], format="csr")
    rows = pa.table({"a": np.full(ROWS, 0.1), **lists(ones), **LABELS})
    options: dict[str, Any] = {"features": ("a", *VECTOR), "reg_param": 0.1, "fit_intercept": fit_intercept}
    found = fit(local, type(LINEAR[name])(LINEAR[name].label, **options), rows).fitted[0]
    of_numbers = found["coefficients"]
    assert found["constant" if name == "linear" else "constant_features"] == ["a", f"v[{SIZE}]"]
    assert (of_numbers if name == "linear" else of_numbers["a"].to_pylist()) == [0.0]
    assert SIZE not in found["vector_coefficients"]["index"].to_pylist()


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["linear", "three classes"])
def test_rows_of_weight_0_are_as_if_absent_however_large_their_numbers(local, name):
    weight = np.where(np.arange(ROWS) % 3 == 0, 0.0, 1.5)
    absent, stage = weight == 0, LINEAR[name]
    trainer = type(stage)(stage.label, features=FEATURES, weight="w", reg_param=0.2, elastic_net_param=0.2)
    rows = {"a": np.where(absent, -1e149, X[:, 0]), "y": np.where(absent, 1e149, LABELS["y"])}
    rows = rows if name == "linear" else {}
    found = fit(local, trainer, table(w=weight, **rows)).fitted[0]
    without = fit(local, trainer, table(w=weight).filter(pa.array(~absent))).fitted[0]
    if name == "linear":
        assert found == without
    else:
        np.testing.assert_allclose(found["intercepts"], without["intercepts"], atol=1e-4)
        one, other = (np.array(each["vector_coefficients"].to_pandas()) for each in (found, without))
        np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("name", ["linear", "two classes"])
def test_a_penalty_that_leaves_no_coefficient_leaves_the_mean(local, name):
    stage = LINEAR[name]
    model = fit(local, type(stage)(stage.label, features=VECTOR, reg_param=1e3, elastic_net_param=1.0, **TIGHT))
    assert model.fitted[0]["vector_coefficients"].num_rows == 0
    made = scored(model, dataset(local, table()))["prediction" if name == "linear" else "probability"]
    np.testing.assert_allclose(made, LABELS[stage.label].mean(), rtol=1e-12)


# What is refused


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["linear", "three classes", "Bayes"])
def test_rows_that_hold_no_vector_are_refused_with_their_place_at_fit_and_when_they_are_scored(local, name, subtests):
    stage, model = TRAINERS[name], fit(local, TRAINERS[name])
    for given, message in FAULTS if name == "linear" else FAULTS[::4]:
        data = dataset(local, faulty(table(), 333, *given))
        reads = (Pipeline(stage).fit, lambda rows: model.transform(rows).to_arrow())
        for read in reads[: 1 if name == "linear" else 2]:
            with subtests.test(given=given), pytest.raises(DataValueError, match=message) as caught:
                read(data)
            assert (caught.value.row, caught.value.stage) == (333, type(stage).__name__)
            assert f"column {caught.value.column!r}" in message
            assert caught.value.path is not None
    with pytest.raises(DataValueError, match="'v_indices' has 1 values that are null, expected a vector in every") as e:
        Pipeline(stage).fit(dataset(local, faulty(table(), 333, None, None)))
    assert (e.value.column, e.value.row) == ("v_indices", 333)


def test_vectors_that_are_all_empty_are_refused(local, subtests):
    for name, stage in (LINEAR | BAYES).items():
        told = "column 'v_indices' has no index in any of its lists"
        with subtests.test(name), pytest.raises(DataValueError, match=told):
            Pipeline(stage).fit(local.from_arrow(table(scipy.sparse.csr_matrix((ROWS, SIZE)))))


def test_lists_that_are_not_one_vector_are_refused_and_no_features_unless_named(subtests):
    other = pa.schema([*table().schema, *sparse.fields(["u"]).items(), ("words", pa.list_(pa.string()))])
    for name, stage in TRAINERS.items():
        with subtests.test(name):
            for features in (("a", "v_indices"), (*VECTOR, "u_indices", "u_values"), ("a", "words")):
                with pytest.raises(SchemaError, match="the two columns of one sparse vector"):
                    type(stage)(stage.label, features=features).bind(other)
            assert set(type(stage)(stage.label).bind(other).inputs()) == {*NUMBERS, *LABELS} - {stage.label}
            for column, kind in (("v_indices", pa.string()), ("v_values", pa.list_(pa.int64()))):
                wrong = other.set(other.get_field_index(column), pa.field(column, kind))
                with pytest.raises(SchemaError, match=f"column '{column}' is {kind}, but {stage.title} takes list"):
                    stage.bind(wrong)


def test_others_refuse_a_vector_before_reading_and_say_what_takes_one():
    for other in (
        st.LinearRegressionCV("two", features=VECTOR), st.GeneralizedLinearRegression("two", features=VECTOR),
        st.RandomForestClassifier("two", features=VECTOR), st.KMeans(features=VECTOR),
    ):  # fmt: skip
        with pytest.raises(SchemaError, match=f"of a sparse vector, which {other.title} does not take") as caught:
            other.bind(table().schema)
        assert "LinearRegression, LogisticRegression, NaiveBayes and XGBoost" in str(caught.value.hint)
