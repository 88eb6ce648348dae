"""Naive Bayes on sparse vectors against dense columns and closed forms."""

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse
from class_scores import scored
from vector_rows import lists

from penstock import stages as st
from penstock.dataset import Dataset
from penstock.engines.base import Engine
from penstock.errors import ConfigError, DataValueError
from penstock.frames import sparse
from penstock.pipeline import Pipeline

ROWS, SIZE = 300, 50
VECTOR = sparse.columns("v")
TYPES = ("multinomial", "complement", "bernoulli")
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


def table(given: Any, classes: int = 3, **more: Any) -> pa.Table:
    return pa.table({"x": NUMBER, **lists(given), "label": np.minimum(LABEL, classes - 1), "w": WEIGHT, **more})


def dataset(engine: Engine, rows: pa.Table, fragment_bytes: int = 4_000) -> Dataset:
    data = engine.from_arrow(rows, fragment_bytes=fragment_bytes)
    assert len(data.fragments) > 1
    return data


def stage(model_type: str, features: tuple[str, ...] = VECTOR, **options: Any) -> st.NaiveBayes:
    return st.NaiveBayes("label", features=features, model_type=model_type, smoothing=0.7, **options)


@pytest.mark.thorough
def test_numbers_beside_a_vector_are_columns_of_one_matrix(local: Engine, subtests: Any) -> None:
    for model_type, (classes, weight) in itertools.product(TYPES, ((2, "w"), (3, None))):
        given = matrix(model_type)
        dense = pa.table({"x": NUMBER, **{f"f{place:02}": column for place, column in enumerate(given.toarray().T)}})
        names, rows = tuple(dense.column_names), table(given, classes)
        wide = pa.table([*dense.columns, rows["label"], rows["w"]], [*names, "label", "w"])
        both, columns = dataset(local, rows), dataset(local, wide, 80_000)
        expected = Pipeline(stage(model_type, names, weight=weight)).fit(columns)
        model = Pipeline(stage(model_type, ("x", *VECTOR), vector_size=SIZE, weight=weight)).fit(both)
        for ours, theirs in zip(scored(model, both), scored(expected, columns), strict=True):
            with subtests.test(model_type, classes=classes):
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
def test_vectors_out_of_the_domain_are_refused_with_their_place(local: Engine, subtests: Any) -> None:
    for model_type, indices, values, problem in (
        ("multinomial", [1, 2], [1.0, -1.0], "negative"),
        ("complement", [1, 2], [1.0, -1.0], "negative"),
        ("bernoulli", [1, 2], [1.0, 0.5], "not binary"),
        ("bernoulli", [1, 2, 3], [1.0, 0.0, 2.0], "not binary"),
    ):
        data, pipeline = dataset(local, faulty(model_type, indices, values)), Pipeline(stage(model_type))
        model = pipeline.fit(dataset(local, table(matrix(model_type))))
        for read in (pipeline.fit, lambda rows, model=model: model.transform(rows).to_arrow()):
            told = f"'v_values' has 1 values that are {problem}"
            with subtests.test(model_type, values=values), pytest.raises(DataValueError, match=told) as caught:
                read(data)
            assert (caught.value.row, caught.value.stage) == (150, "NaiveBayes")


@pytest.mark.thorough
def test_without_smoothing_a_probability_of_zero_is_refused(local: Engine) -> None:
    with pytest.raises(DataValueError, match=r"'v\[4\]' gives class 0 a probability of 0, and smoothing is 0"):
        Pipeline(st.NaiveBayes("label", features=VECTOR, smoothing=0)).fit(dataset(local, table(matrix("multinomial"))))


def test_the_gaussian_model_refuses_a_vector_and_numbers_a_size(local: Engine) -> None:
    schema = table(matrix("multinomial")).schema
    with pytest.raises(ConfigError, match="'gaussian' of NaiveBayes is for numbers, and 'v' is a sparse vector"):
        st.NaiveBayes("label", features=VECTOR, model_type="gaussian").bind(schema)
    with pytest.raises(ConfigError, match="vector_size of NaiveBayes is 9, and no feature is a sparse vector"):
        st.NaiveBayes("label", features="x", vector_size=9).bind(schema)
